//! A scenario whose axes are set by name.

use super::short;
use super::value::Value;
use super::variation::{POLICY, Variation};
use crate::scenario::Scenario;
use crate::source::{Item, Problems, Source, Table};

/// A scenario whose axes are set by name, many times.
#[derive(Clone, Debug)]
pub struct Base {
    name: String,
    text: String,
    root: Table,
    scenario: Scenario,
}

impl Base {
    /// Reads a scenario from the text of the file `name`.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its line.
    pub fn parse(name: &str, text: &str) -> Result<Base, Problems> {
        let scenario = Scenario::parse(name, text)?;
        Ok(Base {
            name: name.to_owned(),
            text: text.to_owned(),
            root: Source::new(name, text).parse(),
            scenario,
        })
    }

    /// The scenario as it is in its file.
    #[must_use]
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The scenario with these values of axes, and with one policy: the one
    /// that the axis `policy` names, else the first.
    ///
    /// # Errors
    /// When an axis or its value is not known.
    pub fn at<'a>(
        &self,
        axes: impl IntoIterator<Item = (&'a str, &'a Value)>,
    ) -> Result<Scenario, String> {
        let source = Source::new(&self.name, &self.text);
        let mut variation = Variation::default();
        for (axis, value) in axes {
            variation.add(&one(&source, axis, value));
        }
        let mut scenario = if variation.is_short() {
            self.by_short_names(&variation)?
        } else {
            let read = variation.scenario(&source, self.root.clone());
            source.finish(read).map_err(|problems| {
                let messages: Vec<String> = problems.0.into_iter().map(|p| p.message).collect();
                messages.join("; ")
            })?
        };
        scenario.policies.truncate(1);
        Ok(scenario)
    }

    /// The same without reading the file's tree.
    fn by_short_names(&self, variation: &Variation) -> Result<Scenario, String> {
        let mut scenario = self.scenario.clone();
        if let Some(name) = &variation.policy {
            scenario.policies.retain(|p| p.name == *name);
            if scenario.policies.is_empty() {
                return Err(format!(
                    "policy = {name}: the scenario has no policy of that name"
                ));
            }
        }
        let settings = || variation.short.iter().map(|(setting, _)| setting);
        for setting in settings() {
            let applied = setting.apply(&mut scenario);
            applied.map_err(|why| format!("{setting}: {why}"))?;
        }
        short::finish(settings(), &mut scenario)?;
        Ok(scenario)
    }
}

fn one(source: &Source<'_>, axis: &str, value: &Value) -> Variation {
    if axis == POLICY {
        return Variation::of_policy(&value.to_string());
    }
    if short::is_name(axis) {
        return Variation::of_short(axis, value, &(0..0));
    }
    Variation::of_key(source, axis, &(0..0), &Item::alone(&value.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = "[traffic]\nkind = \"bulk\"\nsize = \"1 MB\"\n\
        [[path]]\nrate = \"10 Mbit/s\"\ndelay = \"45 ms\"\n\
        [[path]]\nrate = \"10 Mbit/s\"\ndelay = \"45 ms\"\n\
        [[policy]]\nname = \"a\"\n[[policy]]\nname = \"b\"\nrto.min = \"300 ms\"\n";

    fn at(axes: &[(&str, Value)]) -> Result<Scenario, String> {
        let base = Base::parse("x", SCENARIO).unwrap_or_else(|e| panic!("{e}"));
        base.at(axes.iter().map(|(name, value)| (*name, value)))
    }

    #[test]
    fn a_short_name_and_its_keys_set_the_same() {
        let text = |t: &str| Value::Text(t.to_owned());
        let policy = || ("policy", text("b"));
        for (short, key) in [
            (("loss1", Value::Number(3.0)), ("path.1.loss", text("3 %"))),
            (
                ("rtt2", Value::Number(210.0)),
                ("path.2.delay", text("105 ms")),
            ),
            (
                ("pmr", Value::Number(2.0)),
                ("failure.path_max_retrans", Value::Number(2.0)),
            ),
            (("dormant", text("Hop")), ("failover.dormant", text("Hop"))),
            (
                ("size", Value::Number(8.0)),
                ("traffic.size", text("8 MiB")),
            ),
        ] {
            let (one, other) = (at(&[policy(), short]), at(&[policy(), key]));
            assert_eq!(one, other);
            let scenario = one.unwrap();
            assert_eq!(scenario.policies.len(), 1);
            assert_eq!(scenario.policies[0].config.rto.min.as_millis(), 300);
        }
        let mixed = at(&[("loss1", Value::Number(3.0)), ("path.2.loss", text("5 %"))]);
        let paths = mixed.unwrap().paths;
        assert_ne!(paths[0].forward.loss, paths[1].forward.loss);
    }

    #[test]
    fn what_is_not_known_is_named() {
        for (axis, value, part) in [
            ("loss9", Value::Number(3.0), "no such path"),
            (
                "loss1",
                Value::Number(f64::NAN),
                "expected 0 to 100 percent",
            ),
            ("loss1", Value::Number(101.0), "expected 0 to 100 percent"),
            (
                "alternates",
                Value::Number(-1.0),
                "expected 0 to 100 percent",
            ),
            ("rtt1", Value::Number(f64::INFINITY), "no length of time"),
            ("size", Value::Number(0.0), "MiB"),
            ("bursts", Value::Number(0.5), "expected 1 to"),
            (
                "policy",
                Value::Text("c".to_owned()),
                "no policy of that name",
            ),
            ("rto.mim", Value::Text("1 s".to_owned()), "did you mean"),
            ("colour", Value::Text("red".to_owned()), "colour"),
        ] {
            let error = at(&[(axis, value)]).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn an_axis_changes_all_the_cross_traffic_there_is() {
        let cross = "[[cross]]\npath = 2\nrate = \"1 Mbit/s\"\nshape = \"pareto\"\n";
        let text = format!(
            "[traffic]\nkind = \"bulk\"\nsize = \"1 MB\"\n{}{cross}{cross}",
            "[[path]]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n".repeat(2)
        );
        let base = |text: &str| Base::parse("t", text).unwrap_or_else(|e| panic!("{e}"));
        let at = |axis: &str, value: f64| base(&text).at([(axis, &Value::Number(value))]);
        let changed = at("cross_bursts", 1.5).unwrap();
        let long = std::time::Duration::from_millis(1500);
        assert!(changed.cross.iter().all(|c| c.bursts == long));
        let changed = at("load2", 1.5).unwrap();
        assert!(
            changed
                .cross
                .iter()
                .all(|c| c.rate == crate::units::Rate(1_500_000))
        );

        let e = at("cross_bursts", -1.0).unwrap_err();
        assert_eq!(e, "cross_bursts = -1: no length of time");

        let none = base(&text.replace(cross, ""));
        let e = none
            .at([("cross_bursts", &Value::Number(1.5))])
            .unwrap_err();
        assert_eq!(e, "cross_bursts = 1.5: no cross traffic");
    }
}
