use super::*;
use crate::reproduce::ReproduceError;
use crate::reproduce::kept;
use byway_lab::engine::{Options, Store};
use byway_lab::trouble::Trouble;

const SCENARIO: &str = "limit = \"2000 s\"\n[protocol]\npreset = \"ns2\"\n\
    [traffic]\nkind = \"bulk\"\nsize = \"200 kB\"\nmessage = \"1452 B\"\n\
    [[path]]\nrate = \"10 Mbit/s\"\ndelay = \"45 ms\"\n\
    [[path]]\nrate = \"10 Mbit/s\"\ndelay = \"45 ms\"\n";

fn study(more: &str) -> StudySpec {
    toml::from_str(&format!(
        "id = \"s\"\nwhat = \"w\"\nscenario = \"x\"\nseeds = {{ quick = 4, full = 4 }}\n\
         {more}[axes]\nloss1 = [1, 9]\nloss2 = [5]\npmr = [2, 0, 1]\n"
    ))
    .unwrap_or_else(|e| panic!("{e}"))
}

struct Done {
    rows: Vec<Vec<Row>>,
    asked: usize,
    simulated: usize,
    from_store: usize,
}

fn done(more: &str, twice: bool) -> Done {
    with(more, twice, None).unwrap_or_else(|e| panic!("{e}"))
}

/// The rows of a study, or of the same one twice.
fn with(more: &str, twice: bool, store: Option<&Store>) -> Result<Done, ReproduceError> {
    let study = study(more);
    let everywhere = Place::new();
    let measures: BTreeSet<String> = ["transfer_s", "path1_failures", "timeouts"]
        .map(str::to_owned)
        .into();
    let wanted: Vec<Wanted<'_>> = (0..=usize::from(twice))
        .map(|_| Wanted {
            paper: "p",
            study: &study,
            effort: Effort::Quick,
            base: Base::parse("x", SCENARIO).unwrap_or_else(|e| panic!("{e}")),
            ablation: None,
            at: &everywhere,
            seeds: study.look(Effort::Quick, 0, 1),
            measures: measures.clone(),
        })
        .collect();
    let plan = |w: &Wanted<'_>| w.plan(&crate::reproduce::measure::known());
    let plans: Vec<StudyPlan> = wanted.iter().map(plan).collect::<Result<_, _>>()?;
    if let Some(store) = store {
        kept::try_out(&plans, store, "newer")?;
    }
    let all: Vec<&Plan> = plans.iter().map(|p| &p.plan).collect();
    let options = Options {
        store,
        strict: true,
        ..Options::default()
    };
    let done = engine::run(&all, &options).unwrap_or_else(|e| panic!("{e}"));
    let each = wanted.iter().zip(&plans).zip(&done.rows);
    Ok(Done {
        rows: each.map(|((w, plan), rows)| w.rows(plan, rows)).collect(),
        asked: done.asked,
        simulated: done.simulated,
        from_store: done.from_store,
    })
}

#[test]
fn kept_runs_give_the_same_rows_and_are_tried_out_by_another_build() {
    let folder = std::env::temp_dir().join(format!("byway-plan-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("runs");
    let open = || kept::open(&file, "older").unwrap().0;
    let first = with("", false, Some(&open())).unwrap();
    assert_eq!((first.simulated, first.from_store), (24, 0));
    let again = with("", true, Some(&open())).unwrap();
    assert_eq!((again.simulated, again.from_store), (0, 24));
    assert_eq!(again.rows[0], first.rows[0]);
    assert_eq!(again.rows[1], first.rows[0]);
    // Another build with the same figures goes on (the try-out above), but not
    // if a run would come out otherwise now: here another limit of time.
    std::fs::remove_file(&file).unwrap();
    let store = open();
    let wrong =
        crate::reproduce::measure::known().with(Metric::new("transfer_s", "s", |_| Some(0.5)));
    let study = study("");
    let everywhere = Place::new();
    let other = Wanted {
        paper: "p",
        study: &study,
        effort: Effort::Quick,
        base: Base::parse("x", SCENARIO).unwrap_or_else(|e| panic!("{e}")),
        ablation: None,
        at: &everywhere,
        seeds: study.look(Effort::Quick, 0, 1),
        measures: ["transfer_s".to_owned()].into(),
    };
    let plan = other.plan(&wrong).unwrap();
    let options = Options {
        store: Some(&store),
        ..Options::default()
    };
    engine::run(&[&plan.plan], &options).unwrap();
    drop(store);
    let error = with("", false, Some(&open())).err().unwrap();
    let foreign = matches!(error, ReproduceError::File(Trouble::Foreign { .. }));
    assert!(foreign, "{error}");
    let error = error.to_string();
    for part in [
        "runs: ",
        "simulates differently",
        "p/x at ",
        "transfer_s is 0.5 there",
    ] {
        assert!(error.contains(part), "{error}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn shared_runs_give_the_rows_of_single_ones() {
    let single = done("", false);
    assert_eq!((single.asked, single.simulated), (24, 24));
    let shared = done(
        "threshold = { axis = \"pmr\", reached = \"failures\" }\n",
        false,
    );
    assert!(shared.simulated < 20, "{}", shared.simulated);
    assert_eq!(shared.rows, single.rows);
    let twice = done("", true);
    assert_eq!((twice.asked, twice.simulated), (48, 24));
    assert_eq!(twice.rows, [single.rows.clone(), single.rows].concat());
}

#[test]
fn seeds_take_the_values_of_a_rotated_axis_in_turn() {
    let rotated = done("rotate = { axis = \"rtt1\", values = [90, 200] }\n", false);
    assert_eq!((rotated.asked, rotated.simulated), (24, 24));
    let mut alone = [Vec::new(), Vec::new()];
    for (rows, rtt) in alone.iter_mut().zip([90, 200]) {
        let more = format!("rotate = {{ axis = \"rtt1\", values = [{rtt}] }}\n");
        *rows = done(&more, false).rows.remove(0);
    }
    for (i, row) in rotated.rows[0].iter().enumerate() {
        // Seeds 2 and 4 take the first value, 1 and 3 the second.
        assert_eq!(*row, alone[(i + 1) % 2][i]);
    }
}
