//! A browser with the page, and the command beside it.

use anyhow::{Context, Result, bail, ensure};
use headless_chrome::protocol::cdp::{Emulation, Page};
use headless_chrome::{Browser, LaunchOptions, Tab};
use serde_json::Value;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs before the page's own scripts: notes everything that goes wrong.
const WATCH: &str = "window.problems = [];
const note = what => window.problems.push(what);
addEventListener('error', e => note('script error: ' + (e.message || e.target && e.target.src)), true);
addEventListener('unhandledrejection', e => note('rejection: ' + e.reason));
addEventListener('securitypolicyviolation', e => note('policy: ' + e.violatedDirective + ' ' + e.blockedURI));
const error = console.error;
console.error = (...all) => { note('console: ' + all.join(' ')); error(...all); };";

/// A browser with the page, and the command beside it.
pub struct Visitor {
    _browser: Browser,
    tab: Arc<Tab>,
    url: String,
    byway: PathBuf,
    work: PathBuf,
    shell: RefCell<Shell>,
}

impl Visitor {
    /// Starts the browser.
    pub fn new(folder: &Path, byway: &Path) -> Result<Visitor> {
        let index = folder
            .join("index.html")
            .canonicalize()
            .with_context(|| format!("{} has no page; build it first", folder.display()))?;
        let byway = byway
            .canonicalize()
            .with_context(|| format!("there is no command {}", byway.display()))?;
        let args = [
            "--disable-gpu",
            "--disable-component-update",
            "--no-first-run",
        ];
        let options = LaunchOptions {
            headless: true,
            sandbox: false,
            path: Some(chromium()?),
            window_size: Some((1280, 900)),
            idle_browser_timeout: Duration::from_secs(600),
            args: args.iter().map(OsStr::new).collect(),
            ..LaunchOptions::default()
        };
        let browser = Browser::new(options).context("cannot start Chromium")?;
        let tab = browser.new_tab()?;
        tab.set_default_timeout(PATIENCE);
        tab.call_method(Page::AddScriptToEvaluateOnNewDocument {
            source: WATCH.to_owned(),
            world_name: None,
            include_command_line_api: None,
            run_immediately: None,
        })?;
        let work = std::env::temp_dir().join(format!("byway-visit-{}", std::process::id()));
        std::fs::create_dir_all(&work)?;
        Ok(Visitor {
            _browser: browser,
            tab,
            url: format!("file://{}", index.display()),
            byway,
            work,
            shell: RefCell::new(Shell::new()?),
        })
    }

    /// Opens the page anew.
    pub fn fresh(&self) -> Result<()> {
        self.size(1280, 900)?;
        self.open("")
    }

    /// Opens the page with this fragment.
    pub fn open(&self, fragment: &str) -> Result<()> {
        // Only another document is loaded, not another fragment.
        self.tab
            .navigate_to("about:blank")?
            .wait_until_navigated()?;
        self.tab.navigate_to(&format!("{}{fragment}", self.url))?;
        self.ready()
    }

    /// Loads it again, as it is.
    pub fn reload(&self) -> Result<()> {
        self.tab.reload(true, None)?;
        self.ready()
    }

    fn ready(&self) -> Result<()> {
        self.until(
            "the page is ready",
            "document.body && document.body.dataset.ready === 'yes'",
        )
    }

    /// The tab.
    pub fn tab(&self) -> &Tab {
        &self.tab
    }

    /// The address of the page without a fragment.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sets the size of the window, pixels.
    pub fn size(&self, width: u32, height: u32) -> Result<()> {
        self.tab.call_method(Emulation::SetDeviceMetricsOverride {
            width,
            height,
            device_scale_factor: 1.0,
            mobile: false,
            scale: None,
            screen_width: None,
            screen_height: None,
            position_x: None,
            position_y: None,
            dont_set_visible_size: None,
            screen_orientation: None,
            viewport: None,
            display_feature: None,
            device_posture: None,
        })?;
        Ok(())
    }

    /// The value of a script.
    pub fn value(&self, script: &str) -> Result<Value> {
        let wrapped =
            format!("(async () => JSON.stringify(await (async () => ({script}))() ?? null))()");
        let answer = self
            .tab
            .evaluate(&wrapped, true)
            .with_context(|| format!("the script {script:.80}"))?;
        match answer.value {
            Some(Value::String(text)) => Ok(serde_json::from_str(&text)?),
            other => bail!(
                "the script {script:.80} gave {other:?} {:?}",
                answer.description
            ),
        }
    }

    /// The value of a script, a text.
    pub fn text(&self, script: &str) -> Result<String> {
        let value = self.value(script)?;
        let text = value.as_str();
        Ok(text
            .with_context(|| format!("{script:.80}: {value}"))?
            .to_owned())
    }

    /// The value of a script, a number.
    pub fn number(&self, script: &str) -> Result<f64> {
        let value = self.value(script)?;
        value
            .as_f64()
            .with_context(|| format!("{script:.80}: {value}"))
    }

    /// Waits until a script is true.
    pub fn until(&self, what: &str, script: &str) -> Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if self.value(script).is_ok_and(|v| v == Value::Bool(true)) {
                return Ok(());
            }
            sleep(Duration::from_millis(20));
        }
        bail!("waited {PATIENCE:?} in vain: {what}")
    }

    /// Waits until the simulated time has come.
    pub fn until_time(&self, seconds: f64) -> Result<()> {
        self.until(
            &format!("{seconds} s"),
            &format!("byway.now() >= {seconds}"),
        )
    }

    /// Clicks with the mouse.
    pub fn click(&self, selector: &str) -> Result<()> {
        let element = self.tab.wait_for_element(selector)?;
        element
            .click()
            .with_context(|| format!("cannot click {selector}"))?;
        Ok(())
    }

    /// Presses a key.
    pub fn key(&self, key: &str) -> Result<()> {
        self.tab
            .press_key(key)
            .with_context(|| format!("cannot press {key}"))?;
        Ok(())
    }

    /// Replaces the text of a field, as a person types it.
    pub fn fill(&self, selector: &str, text: &str) -> Result<()> {
        let element = self.tab.wait_for_element(selector)?;
        element.focus()?;
        self.value(&format!(
            "document.querySelector({}).select()",
            quoted(selector)
        ))?;
        self.tab.type_str(text)?;
        self.key("Enter")?;
        self.value("document.activeElement.blur()")?;
        Ok(())
    }

    /// Chooses from a list.
    pub fn choose(&self, selector: &str, option: &str) -> Result<()> {
        let (selector, option) = (quoted(selector), quoted(option));
        self.value(&format!(
            "(s => {{ s.value = {option}; s.dispatchEvent(new Event('change', {{ bubbles: true }})); }})(document.querySelector({selector}))"
        ))?;
        Ok(())
    }

    /// Fails if anything went wrong in the page.
    pub fn no_problems(&self) -> Result<()> {
        let problems = self.value("window.problems")?;
        ensure!(
            problems == Value::Array(Vec::new()),
            "in the page: {problems}"
        );
        Ok(())
    }

    /// Runs the scene to its end, and compares the result with the command's, byte for byte, and with
    /// what the page shows.
    pub fn same_as_the_command(&self) -> Result<()> {
        self.click("#finish")?;
        self.until("the scene ends", "byway.over()")?;
        let file = self.work.join("scene.toml");
        std::fs::write(&file, self.text("byway.toml()")?)?;
        let (said, _) =
            self.command(&[OsStr::new("run"), file.as_os_str(), OsStr::new("--json")])?;
        self.compare(&said)?;
        self.shows(&serde_json::from_str(&said)?)
    }

    /// Fails unless `said` is the page's result.
    pub fn compare(&self, said: &str) -> Result<()> {
        let page = self.text("byway.json()")?;
        let at = page.bytes().zip(said.bytes()).position(|(a, b)| a != b);
        ensure!(
            page == said,
            "the page's result is not the command's: {} and {} bytes, first difference at {at:?}",
            page.len(),
            said.len()
        );
        Ok(())
    }

    /// Fails unless the page shows what the result has.
    fn shows(&self, result: &Value) -> Result<()> {
        let view = self.value("byway.view()")?;
        let results = result["results"].as_array().context("results")?;
        for (lane, result) in view["lanes"]
            .as_array()
            .context("lanes")?
            .iter()
            .zip(results)
        {
            for (shown, known) in [
                ("policy", "policy"),
                ("read_bytes", "delivered_bytes"),
                ("retransmissions", "retransmissions"),
                ("failovers", "failovers"),
                ("transfer", "transfer_s"),
                ("outcome", "outcome"),
            ] {
                ensure!(
                    lane[shown] == result[known],
                    "{}: the page shows {shown} {}, the result has {}",
                    lane["policy"],
                    lane[shown],
                    result[known]
                );
            }
            let stall = |v: &Value| v.as_f64().unwrap_or(0.0);
            let (shown, known) = (
                stall(&lane["longest"][1]),
                stall(&result["stall"]["length_s"]),
            );
            ensure!(
                (shown - known).abs() < 1e-4,
                "longest stall {shown} and {known}"
            );
        }
        Ok(())
    }

    /// What the command prints, and what it says of mistakes.
    pub fn command(&self, args: &[&OsStr]) -> Result<(String, String)> {
        let [byway, out, said, wrong] = [
            self.byway.clone(),
            self.work.join("out"),
            self.work.join("said"),
            self.work.join("wrong"),
        ]
        .map(|path| in_shell(path.as_os_str()));
        let args: Vec<String> = args.iter().map(|arg| in_shell(arg)).collect();
        self.shell.borrow_mut().run(&format!(
            "{byway} {} --out {out} >{said} 2>{wrong}",
            args.join(" ")
        ))?;
        let read = |name| std::fs::read_to_string(self.work.join(name));
        Ok((read("said")?, read("wrong")?))
    }
}

/// A shell that runs commands. They are not children of this program: the end of a child interrupts the
/// connection with the browser, which `headless_chrome` then gives up.
struct Shell {
    _child: Child,
    lines: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Shell {
    fn new() -> Result<Shell> {
        let mut child = Command::new("sh")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("there is no shell")?;
        let lines = child.stdin.take().context("its input")?;
        let answers = BufReader::new(child.stdout.take().context("its output")?);
        Ok(Shell {
            _child: child,
            lines,
            answers,
        })
    }

    fn run(&mut self, line: &str) -> Result<()> {
        writeln!(self.lines, "{line}\necho done").context("the shell has ended")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        ensure!(answer == "done\n", "the shell says {answer:?}");
        Ok(())
    }
}

fn in_shell(argument: &OsStr) -> String {
    format!("'{}'", argument.to_string_lossy().replace('\'', "'\\''"))
}

impl Drop for Visitor {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.work);
    }
}

/// A text as JavaScript has it.
pub fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

fn chromium() -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .flat_map(|dir| {
            ["chromium", "chromium-browser", "google-chrome"].map(|name| dir.join(name))
        })
        .find(|file| file.is_file())
        .context("there is no Chromium")
}
