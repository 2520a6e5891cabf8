//! Asks the association's dialect.

use super::{Association, Ctx};
use crate::dialect::{Dialect, Inside};
use crate::outbox::unlikely;

impl Association {
    /// Asks the dialect, if the association has one.
    #[inline]
    pub(crate) fn ask<T>(
        &mut self,
        ctx: &mut Ctx<'_>,
        question: impl FnOnce(&mut dyn Dialect, &mut Inside<'_>) -> T,
    ) -> Option<T> {
        self.optional.dialect.as_ref()?;
        unlikely();
        let (dialect, mut inside) = self.inside(ctx);
        dialect.map(|d| question(d, &mut inside))
    }

    /// The dialect's answer to a yes-or-no question; false without a dialect.
    #[inline]
    pub(super) fn dialect_says(&self, question: impl FnOnce(&dyn Dialect) -> bool) -> bool {
        self.optional.dialect.as_deref().is_some_and(question)
    }

    /// The dialect, and the state that it may read and change.
    pub(super) fn inside<'a>(
        &'a mut self,
        ctx: &'a mut Ctx<'_>,
    ) -> (Option<&'a mut dyn Dialect>, Inside<'a>) {
        let recovering = self.send.in_recovery();
        let inside = Inside {
            now: ctx.now,
            cfg: &self.cfg,
            rng: &mut *ctx.rng,
            id: self.id,
            paths: &mut self.paths,
            ledger: &mut self.send.ledger,
            concurrent: self.send.concurrent.as_deref_mut(),
            recovering,
            out: &mut *ctx.out,
        };
        let dialect = self
            .optional
            .dialect
            .as_mut()
            .map(|d| &mut **d as &mut dyn Dialect);
        (dialect, inside)
    }
}
