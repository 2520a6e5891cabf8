"""Rules in Python."""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest

import byway
from byway.policy import Path, Paths, failover, retransmission_target


def same(view: Paths) -> int:
    """AllRtxSame: as long as the path is active."""
    assert view.last is not None
    return view.last if view[view.last].state == "active" else alternate(view)


def alternate(view: Paths) -> int:
    """AllRtxAlt: as the built-in rule finds the alternate."""
    assert view.last is not None
    other = view.alternate(view.last)
    return view.data_path if other is None else other


@pytest.mark.parametrize(("rule", "name"), [(same, "AllRtxSame"), (alternate, "AllRtxAlt")])
def test_a_built_in_rule_written_in_python_gives_the_same_packets(rule: Any, name: str) -> None:
    settings = {"preset": "rfc2960", "retransmission.target": name}
    builtin = byway.run(policies={"it": settings})[0]
    own = byway.run(
        policies={"it": {"preset": "rfc2960"}}, decider=retransmission_target(rule)
    )[0]
    assert own.policy == "it (custom)" and rule.__name__ in own.note
    assert own.digest == builtin.digest
    assert own.retransmissions > 0


def test_a_rule_changes_the_run_and_the_same_rule_gives_the_same_run() -> None:
    @retransmission_target
    def widest(view: Paths) -> Path:
        return max((p for p in view.paths if p.usable), key=lambda p: p.room)

    runs = [byway.run(only="RFC 9260", decider=widest)[0].digest for _ in range(2)]
    assert runs[0] == runs[1] != byway.run(only="RFC 9260")[0].digest


def test_none_leaves_the_answer_to_the_built_in_rule() -> None:
    asked: list[str | None] = []

    def nothing(view: Paths) -> None:
        asked.append(view.cause)

    own = byway.run(only="RFC 9260", decider=retransmission_target(nothing))[0]
    assert own.digest == byway.run(only="RFC 9260")[0].digest
    assert set(asked) == {"fast_retransmit", "timeout"}


def test_a_failover_rule_moves_the_data_and_judges_the_paths() -> None:
    limits: list[int | None] = []

    def judge(view: Paths) -> str:
        assert view.path is not None
        limits.append(view.limit)
        return "potentially_failed" if view[view.path].errors > 1 else "active"

    # With RFC 9260's own rule the path is potentially failed after one timeout.
    own = byway.run(only="RFC 9260", decider=failover(judge=judge))[0]
    first = own.detections[0].suspect_after_s
    assert first is not None and first > 2 and limits[0] == 5

    @failover
    def stay(view: Paths) -> int:
        return view.primary

    stayed = byway.run(only="RFC 9260", decider=stay)[0]
    assert stayed.outcome.kind != "complete" and stayed.failovers == 0


REPAIRED: dict[str, Any] = {
    "limit": "300 s",
    "path": [{"rate": "10 Mbit/s", "delay": "20 ms"}] * 2,
    "traffic": {"kind": "bulk", "size": "40 MB"},
    "event": [{"at": "2 s", "path": 1, "do": "down"}, {"at": "12 s", "path": 1, "do": "up"}],
}


def test_a_rule_chooses_the_primary() -> None:
    """The data stays on the second path, where the built-in rule goes back."""
    settings = {"failure.path_max_retrans": 0}
    asked: list[int] = []

    def stay(view: Paths) -> int:
        asked.append(view.primary)
        return 1

    back = byway.run(REPAIRED, settings=settings)[0]
    stayed = byway.run(REPAIRED, settings=settings, decider=failover(switch_primary=stay))[0]
    # The first path carries what it did in the first two seconds, and heartbeats.
    assert back.paths[0].data_bytes > 6e6 > 3e6 > stayed.paths[0].data_bytes
    assert stayed.paths[1].data_bytes > 35e6
    assert set(asked) == {0, 1}


def test_a_rule_judges_a_path_inactive_at_the_first_error() -> None:
    assert byway.run(REPAIRED)[0].detections[0].inactive_after_s is None
    rule = failover(judge=lambda view: "inactive")
    ruled = byway.run(REPAIRED, decider=rule)[0].detections[0]
    # As with Path.Max.Retrans 0.
    settings = {"failure.path_max_retrans": 0}
    assert ruled == byway.run(REPAIRED, settings=settings)[0].detections[0]
    assert ruled.inactive_after_s is not None


def test_a_rule_is_told_which_path_timed_out() -> None:
    seen: list[int | None] = []

    def look(view: Paths) -> None:
        seen.append(view.timed_out)

    byway.run(REPAIRED, decider=failover(look))
    assert set(seen) == {None, 0}


def test_rules_may_be_given_to_some_policies_and_run_beside_others() -> None:
    rule = retransmission_target(same)
    runs = byway.run(only=["RFC 9260", "byway"], decider={"byway": rule})
    assert [r.policy for r in runs] == ["RFC 9260", "byway (custom)"]
    assert runs[0].digest == byway.run(only="RFC 9260")[0].digest
    assert runs.command == ""
    with pytest.raises(byway.ScenarioError, match="no such policy"):
        byway.run(decider={"nobody": rule})


def test_a_view_says_what_is_known() -> None:
    seen: list[Paths] = []

    def look(view: Paths) -> None:
        seen.append(view)

    byway.run(only="RFC 9260", decider=retransmission_target(look))
    view = seen[0]
    assert len(view) == len(view.paths) == 2 and view.timed_out is None and view.limit is None
    path = view[0]
    assert path.number == 0 and path.state in byway.STATES and path.cwnd > 0
    assert path.srtt_s is not None and 0.09 < path.srtt_s < 0.3 and path.rto_s >= 1
    assert path.usable and path.confirmed and path.room <= path.cwnd
    for wrong in (2, -1, 10**30):
        with pytest.raises((IndexError, OverflowError)):
            view[wrong]
    with pytest.raises(AttributeError):
        path.cwnd = 5  # type: ignore[misc]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (2, ValueError), (-1, ValueError), (10**30, ValueError), ("1", TypeError),
        (1.0, TypeError), (True, TypeError), ([], TypeError), (float("nan"), TypeError),
    ],
)  # fmt: skip
def test_a_wrong_answer_ends_the_run(answer: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="wrong returned .*expected a path of the view"):

        def wrong(view: Paths) -> Any:
            return answer

        byway.run(only="RFC 9260", decider=retransmission_target(wrong))


def test_a_wrong_state_ends_the_run() -> None:
    for answer, error in [("dead", ValueError), (3, TypeError)]:
        with pytest.raises(error, match="potentially_failed"):
            byway.run(only="RFC 9260", decider=failover(judge=lambda view, a=answer: a))  # type: ignore[misc]


def test_an_exception_comes_out_as_it_is() -> None:
    class Mine(Exception):
        pass

    error = Mine("at the first timeout")

    def fails(view: Paths) -> int:
        raise error

    with pytest.raises(Mine) as caught:
        byway.run(decider=retransmission_target(fails))
    assert caught.value is error
    assert caught.traceback[-1].name == "fails"


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(TypeError, match="found an int"):
        retransmission_target(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="at least one function"):
        failover()
    with pytest.raises(byway.SettingError, match="expected a rule of byway.policy"):
        byway.run(decider=same)  # type: ignore[arg-type]


def test_a_rule_may_run_byway_itself() -> None:
    inner: list[str] = []

    def curious(view: Paths) -> None:
        if not inner:
            inner.append(byway.run(only="byway")[0].digest)

    byway.run(only="RFC 9260", decider=retransmission_target(curious))
    assert inner == [byway.run(only="byway")[0].digest]


def test_rules_that_run_byway_without_end_raise_recursion_error() -> None:
    rules: list[Any] = []

    def again(view: Paths) -> None:
        byway.run(only="RFC 9260", decider=rules[0])

    rules.append(retransmission_target(again))
    for stack in (0, 512 << 10):
        before = threading.stack_size(stack)
        try:
            raised: list[BaseException] = []

            def work(raised: list[BaseException] = raised) -> None:
                try:
                    byway.run(only="RFC 9260", decider=rules[0])
                except BaseException as error:
                    raised.append(error)

            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        finally:
            threading.stack_size(before)
        assert isinstance(raised[0], RecursionError), raised
        assert "again: rules that run byway are 8 deep" in str(raised[0])


def test_rules_are_freed() -> None:
    import weakref

    class Rule:
        __name__ = "Rule"

        def __call__(self, view: Paths) -> None: ...

    rule = Rule()
    known = weakref.ref(rule)
    byway.run(only="RFC 9260", decider=retransmission_target(rule))
    del rule
    gc.collect()
    assert known() is None
