//! [`Session`] for JavaScript. Errors are thrown as texts.

use crate::lane::CurveKind;
use crate::session::{Session, catalogue};
use std::time::Duration;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

#[wasm_bindgen]
extern "C" {
    /// The browser's log of errors.
    #[wasm_bindgen(js_namespace = console)]
    fn error(text: &str);
}

/// Panics are written to the browser's log of errors.
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|info| error(&info.to_string())));
}

/// Names and notes of the policies that can be chosen in any scene, as JSON.
#[wasm_bindgen]
#[must_use]
pub fn policies() -> String {
    serde_json::to_string(&catalogue()).unwrap_or_default()
}

/// A scene that is watched and changed while it runs.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Scene(Session);

/// Seconds of the page as simulated time, to the microsecond.
fn time(seconds: f64) -> Duration {
    let micros = (seconds.clamp(0.0, 1e9) * 1e6).round();
    Duration::from_micros(micros as u64)
}

#[wasm_bindgen]
impl Scene {
    /// See [`Session::open`].
    ///
    /// # Errors
    /// As there.
    #[wasm_bindgen(constructor)]
    pub fn new(name: &str, text: &str) -> Result<Scene, JsValue> {
        Ok(Scene(Session::open(name, text)?))
    }

    /// See [`Session::open_address`].
    ///
    /// # Errors
    /// As there.
    pub fn of_address(address: &str) -> Result<Scene, JsValue> {
        Ok(Scene(Session::open_address(address)?))
    }

    /// See [`Session::advance`].
    ///
    /// # Errors
    /// As there.
    pub fn advance(&mut self, until: f64, events: u32, shown: f64) -> Result<bool, JsValue> {
        Ok(self.0.advance(time(until), events.into(), time(shown))?)
    }

    /// See [`Session::switch`].
    ///
    /// # Errors
    /// As there.
    pub fn switch_path(&mut self, path: usize, up: bool) -> Result<(), JsValue> {
        Ok(self.0.switch(path, up)?)
    }

    /// See [`Session::set`].
    ///
    /// # Errors
    /// As there.
    pub fn set(&mut self, path: usize, key: &str, value: &str) -> Result<(), JsValue> {
        Ok(self.0.set(path, key, value)?)
    }

    /// See [`Session::undo`].
    ///
    /// # Errors
    /// As there.
    pub fn undo(&mut self) -> Result<(), JsValue> {
        Ok(self.0.undo()?)
    }

    /// See [`Session::seed`].
    ///
    /// # Errors
    /// As there.
    pub fn seed(&mut self, seed: &str) -> Result<(), JsValue> {
        Ok(self.0.seed(seed)?)
    }

    /// See [`Session::choose`].
    ///
    /// # Errors
    /// As there.
    pub fn choose(&mut self, names: Vec<String>) -> Result<(), JsValue> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Ok(self.0.choose(&names)?)
    }

    /// See [`Session::restart`].
    ///
    /// # Errors
    /// As there.
    pub fn restart(&mut self, as_opened: bool) -> Result<(), JsValue> {
        Ok(self.0.restart(as_opened)?)
    }

    /// The simulated time that is shown, seconds.
    #[must_use]
    pub fn now(&self) -> f64 {
        self.0.now().as_secs_f64()
    }

    /// See [`Session::handled`].
    #[must_use]
    pub fn handled(&self) -> f64 {
        self.0.handled() as f64
    }

    /// See [`Session::is_over`].
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0.is_over()
    }

    /// See [`Session::view`].
    #[must_use]
    pub fn view(&self) -> String {
        self.0.view()
    }

    /// See [`Session::toml`].
    #[must_use]
    pub fn toml(&self) -> String {
        self.0.toml()
    }

    /// See [`Session::fragment`].
    #[must_use]
    pub fn fragment(&self) -> String {
        self.0.fragment()
    }

    /// See [`Session::json`].
    #[must_use]
    pub fn json(&self) -> Option<String> {
        self.0.json()
    }

    /// See [`Session::marks`]: [`MARK_NUMBERS`](crate::MARK_NUMBERS) numbers for each packet.
    pub fn marks(&mut self, lane: usize) -> Vec<f32> {
        self.0
            .marks(lane)
            .iter()
            .flat_map(crate::Mark::numbers)
            .collect()
    }

    /// See [`Session::curve`].
    #[must_use]
    pub fn curve(&self, lane: usize, kind: u32, path: usize, points: usize) -> Vec<f64> {
        CurveKind::from_number(kind)
            .map_or_else(Vec::new, |kind| self.0.curve(lane, kind, path, points))
    }
}
