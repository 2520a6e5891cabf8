//! A browser with the page, and the command beside it.

use crate::shell::Shell;
use anyhow::{Context, Result, bail, ensure};
use headless_chrome::protocol::cdp::types::Event;
use headless_chrome::protocol::cdp::{Emulation, Input, Network, Page};
use headless_chrome::{Browser, LaunchOptions, Tab};
use serde_json::Value;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
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
    /// Where the page is: a folder's or a server's address, with a slash at the end.
    home: RefCell<String>,
    /// The folder's.
    folder: String,
    /// All that the browser asked for, and nobody has looked at.
    asked: Arc<Mutex<Vec<String>>>,
    pub(crate) byway: PathBuf,
    pub(crate) work: PathBuf,
    pub(crate) shell: RefCell<Shell>,
}

impl Visitor {
    /// Starts a browser for the page in `folder`, with `work` for its files.
    pub fn new(folder: &Path, byway: &Path, work: &Path) -> Result<Visitor> {
        let folder = folder
            .join("index.html")
            .canonicalize()
            .with_context(|| format!("{} has no page; build it first", folder.display()))?
            .with_file_name("");
        let byway = byway
            .canonicalize()
            .with_context(|| format!("there is no command {}", byway.display()))?;
        let args = [
            "--disable-gpu",
            "--disable-component-update",
            "--no-first-run",
            // Nothing but this machine can be reached.
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
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
        let asked = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&asked);
        tab.add_event_listener(Arc::new(move |event: &Event| {
            if let Event::NetworkRequestWillBeSent(sent) = event
                && let Ok(mut list) = list.lock()
            {
                list.push(sent.params.request.url.clone());
            }
        }))?;
        tab.call_method(Network::Enable {
            max_total_buffer_size: None,
            max_resource_buffer_size: None,
            max_post_data_size: None,
            report_direct_socket_traffic: None,
            enable_durable_messages: None,
        })?;
        let folder = format!("file://{}", folder.display());
        Ok(Visitor {
            _browser: browser,
            tab,
            home: RefCell::new(folder.clone()),
            folder,
            asked,
            byway,
            work: work.to_owned(),
            shell: RefCell::new(Shell::new()?),
        })
    }

    /// From here on the page is at `home`; without it, in its folder.
    pub fn move_to(&self, home: Option<&str>) {
        self.home.replace(home.unwrap_or(&self.folder).to_owned());
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
        self.tab.navigate_to(&format!("{}{fragment}", self.url()))?;
        self.ready()
    }

    /// Loads it again, as it is.
    pub fn reload(&self) -> Result<()> {
        self.tab.reload(true, None)?;
        self.ready()
    }

    /// Waits until the page is there.
    pub fn ready(&self) -> Result<()> {
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
    pub fn url(&self) -> String {
        format!("{}index.html", self.home.borrow())
    }

    /// The folder of the page, as a path.
    pub fn folder(&self) -> &Path {
        Path::new(self.folder.trim_start_matches("file://"))
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
        // At once, as from the clipboard: each key would wait for a frame of its own.
        self.tab.call_method(Input::InsertText {
            text: text.to_owned(),
        })?;
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
        self.asked_only_for_the_page()
    }

    /// Fails if the browser asked for anything that is not beside the page.
    pub fn asked_only_for_the_page(&self) -> Result<()> {
        let mut asked = self.asked.lock().unwrap_or_else(|e| e.into_inner());
        let home = self.home.borrow().clone();
        for url in asked.drain(..) {
            let allowed = [home.as_str(), "data:", "blob:", "about:"];
            ensure!(
                allowed.iter().any(|start| url.starts_with(start)),
                "it asks for {url:.200}"
            );
        }
        Ok(())
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
