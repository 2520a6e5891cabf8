//! Packets between the interfaces of two hosts, drawn one below the other.
//!
//! The sender's interfaces are in the middle where there are two paths, each receiver's outside of
//! it. Times are not to scale: what happens at an interface has a line of its own, and a pause is short.

use super::{COLOURS, GRID, TEXT};
use crate::reproduce::figure::ladder::{Hop, Ladder};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Pixels: the width, the least between two lines at one interface, the most for a pause, the head.
const WIDTH: u32 = 500;
const LINE: f64 = 13.0;
const PAUSE: f64 = 40.0;
const HEAD: i32 = 66;
/// Pixels for a millisecond.
const SCALE: f64 = 0.3;

/// Where a moment at an interface is drawn.
struct Moment {
    at: f64,
    /// The path, and whether it is the sender's end.
    end: (usize, bool),
    y: f64,
}

impl Ladder {
    /// The picture.
    ///
    /// # Errors
    /// What the drawing library refuses.
    pub(super) fn svg(&self, title: &str) -> Result<String, String> {
        let moments = self.moments();
        let bottom = moments.iter().map(|m| m.y).fold(0.0, f64::max);
        let height = HEAD as u32 + bottom as u32 + 24;
        let mut out = String::new();
        {
            let root = SVGBackend::with_string(&mut out, (WIDTH, height)).into_drawing_area();
            let drawing = Drawing {
                ladder: self,
                moments: &moments,
                root: &root,
            };
            drawing.frame(title, height as i32)?;
            drawing.times()?;
            self.hops.iter().try_for_each(|hop| drawing.hop(hop))?;
            self.timeouts.iter().try_for_each(|t| drawing.timeout(*t))?;
            root.present().map_err(|e| e.to_string())?;
        }
        Ok(out)
    }

    /// All that happens, with its height.
    fn moments(&self) -> Vec<Moment> {
        let moment = |at: f64, end: (usize, bool)| Moment { at, end, y: 0.0 };
        let of = |hop: &Hop| {
            let ends = [hop.forward, !hop.forward].map(|sender| (hop.path, sender));
            let last = moment(hop.to, ends[1]);
            [Some(moment(hop.from, ends[0])), (!hop.lost).then_some(last)]
        };
        let mut all: Vec<Moment> = self.hops.iter().flat_map(of).flatten().collect();
        all.extend(
            self.timeouts
                .iter()
                .map(|(at, path)| moment(*at, (*path, true))),
        );
        all.sort_by(|a, b| a.at.total_cmp(&b.at));
        let mut last: Option<(f64, f64)> = None;
        let mut below: Vec<((usize, bool), f64)> = Vec::new();
        for m in &mut all {
            let paused = last.map_or(LINE, |(at, y)| y + ((m.at - at) * 1e3 * SCALE).min(PAUSE));
            let free = below.iter().rfind(|(end, _)| *end == m.end);
            m.y = paused.max(free.map_or(0.0, |(_, y)| y + LINE));
            below.push((m.end, m.y));
            last = Some((m.at, m.y));
        }
        all
    }

    /// The place of an interface to the right.
    fn x(&self, path: usize, sender: bool) -> i32 {
        match (self.paths.len(), path, sender) {
            (0 | 1, _, true) => 150,
            (0 | 1, _, false) => 400,
            (_, 0, false) => 70,
            (_, 0, true) => 185,
            (_, _, true) => 315,
            (_, _, false) => 430,
        }
    }
}

type Area<'a, 'b> = DrawingArea<SVGBackend<'b>, plotters::coord::Shift>;
type Drawn = Result<(), String>;

struct Drawing<'a, 'b> {
    ladder: &'a Ladder,
    moments: &'a [Moment],
    root: &'a Area<'a, 'b>,
}

impl Drawing<'_, '_> {
    fn text(
        &self,
        words: &str,
        (x, y): (i32, i32),
        to: HPos,
        colour: RGBColor,
        size: i32,
    ) -> Drawn {
        let style = TextStyle::from(("sans-serif", size).into_font())
            .color(&colour)
            .pos(Pos::new(to, VPos::Center));
        self.root
            .draw(&Text::new(words.to_owned(), (x, y), style))
            .map_err(|e| e.to_string())
    }

    fn stroke(&self, points: Vec<(i32, i32)>, style: ShapeStyle) -> Drawn {
        self.root
            .draw(&PathElement::new(points, style))
            .map_err(|e| e.to_string())
    }

    /// Hosts, paths and the lines of interfaces.
    fn frame(&self, title: &str, height: i32) -> Drawn {
        let middle = WIDTH as i32 / 2;
        self.text(title, (middle, 12), HPos::Center, TEXT, 15)?;
        for (path, name) in self.ladder.paths.iter().enumerate() {
            let ends = [true, false].map(|sender| self.ladder.x(path, sender));
            for x in ends {
                self.stroke(vec![(x, HEAD - 8), (x, height - 4)], TEXT.stroke_width(1))?;
            }
            self.text(name, ((ends[0] + ends[1]) / 2, 50), HPos::Center, TEXT, 13)?;
            self.text("receiver", (ends[1], 33), HPos::Center, TEXT, 13)?;
        }
        let sender = match self.ladder.paths.len() {
            0 | 1 => self.ladder.x(0, true),
            _ => middle,
        };
        self.text("sender", (sender, 33), HPos::Center, TEXT, 13)
    }

    /// Times of what happens at the sender, where there is room.
    fn times(&self) -> Drawn {
        let x = match self.ladder.paths.len() {
            0 | 1 => 60,
            _ => WIDTH as i32 / 2,
        };
        let mut last: Option<(f64, f64)> = None;
        for m in self.moments.iter().filter(|m| m.end.1) {
            let far = last.is_none_or(|(at, y)| m.at - at >= 5e-3 && m.y - y >= LINE);
            if far {
                let y = HEAD + m.y as i32;
                self.text(&format!("{:.3}", m.at), (x, y), HPos::Center, TEXT, 12)?;
                last = Some((m.at, m.y));
            }
        }
        Ok(())
    }

    fn y(&self, at: f64, end: (usize, bool)) -> Option<i32> {
        let found = self.moments.iter().find(|m| m.at == at && m.end == end)?;
        Some(HEAD + found.y as i32)
    }

    /// An arrow, or what there is of it.
    fn hop(&self, hop: &Hop) -> Drawn {
        let ladder = self.ladder;
        let colour = COLOURS[hop.kind % COLOURS.len()];
        let ends = [hop.forward, !hop.forward].map(|sender| ladder.x(hop.path, sender));
        let Some(from) = self.y(hop.from, (hop.path, hop.forward)) else {
            return Ok(());
        };
        let right = ends[1] > ends[0];
        let sign = if right { 1 } else { -1 };
        // Labels stand outside of the arrows, at the end where these begin.
        let (label, to) = match right {
            true => (ends[0] - 6, HPos::Right),
            false => (ends[0] + 6, HPos::Left),
        };
        self.text(&hop.label, (label, from), to, colour, 12)?;
        if hop.lost {
            let x = ends[0] + (ends[1] - ends[0]) * 6 / 10;
            let y = from + 10;
            self.stroke(vec![(ends[0], from), (x, y)], colour.stroke_width(2))?;
            for rise in [-4, 4] {
                let cross = vec![(x - 4, y - rise), (x + 4, y + rise)];
                self.stroke(cross, colour.stroke_width(2))?;
            }
            return Ok(());
        }
        let Some(to) = self.y(hop.to, (hop.path, !hop.forward)) else {
            return Ok(());
        };
        self.stroke(vec![(ends[0], from), (ends[1], to)], colour.stroke_width(2))?;
        // The head lies along the arrow.
        let (dx, dy) = (f64::from(ends[1] - ends[0]), f64::from(to - from));
        let long = dx.hypot(dy).max(1.0);
        let (ux, uy) = (dx / long, dy / long);
        let corner = |side: f64| {
            let x = f64::from(ends[1]) - 8.0 * ux + side * 3.5 * uy;
            let y = f64::from(to) - 8.0 * uy - side * 3.5 * ux;
            (x.round() as i32, y.round() as i32)
        };
        let head = vec![(ends[1] - sign, to), corner(1.0), corner(-1.0)];
        self.root
            .draw(&Polygon::new(head, colour.filled()))
            .map_err(|e| e.to_string())
    }

    fn timeout(&self, (at, path): (f64, usize)) -> Drawn {
        let Some(y) = self.y(at, (path, true)) else {
            return Ok(());
        };
        let x = self.ladder.x(path, true);
        let outside = match self.ladder.x(path, false) > x {
            true => (x - 6, HPos::Right),
            false => (x + 6, HPos::Left),
        };
        self.stroke(vec![(x - 5, y), (x + 5, y)], GRID.stroke_width(5))?;
        self.text("T3", (outside.0, y), outside.1, TEXT, 12)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(from: f64, label: &str) -> Hop {
        Hop {
            path: 0,
            forward: true,
            label: label.to_owned(),
            kind: 0,
            from,
            to: from + 0.045,
            lost: label == "D2",
        }
    }

    #[test]
    fn packets_lie_below_each_other_and_a_pause_is_short() {
        let ladder = Ladder {
            paths: vec!["primary".to_owned(), "alternate".to_owned()],
            hops: vec![hop(1.0, "D1"), hop(1.0001, "D2"), hop(9.0, "D3")],
            timeouts: vec![(8.9, 0)],
        };
        let moments = ladder.moments();
        let at_sender: Vec<f64> = (moments.iter().filter(|m| m.end.1).map(|m| m.y)).collect();
        let apart: Vec<f64> = at_sender.windows(2).map(|w| w[1] - w[0]).collect();
        assert!(
            apart.iter().all(|d| (LINE..=2.0 * PAUSE).contains(d)),
            "{apart:?}"
        );
        let svg = ladder.svg("<PMR 0>").unwrap();
        for text in ["D1", "D2", "T3", "alternate", "&lt;PMR 0&gt;", "9.000"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
    }
}
