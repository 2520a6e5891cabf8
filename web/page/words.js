// The words of the page: what they mean, and where they are defined.
"use strict";

// Word, meaning, source, and how it is found in a text if not by itself. After docs/glossary.md.
const WORDS = [
  ["SCTP", "Stream Control Transmission Protocol. Like TCP it brings data in order and sends again what is lost, but its two hosts may have several addresses, and so several paths between them.", "RFC 9260"],
  ["RFC", "A document that specifies a protocol of the Internet. RFC 2960 (2000) is the first standard of SCTP, which the papers used; RFC 9260 (2022) is today's.", "rfc-editor.org"],
  ["association", "A connection of SCTP. It uses all paths between its two hosts.", "9260 1.3"],
  ["primary", "The path that carries new data as long as it works. All other paths are alternate paths.", "9260 6.4", /primary|alternate/i],
  ["DATA", "The part of a packet (a chunk) that carries the user's bytes.", "9260 3.3.1"],
  ["TSN", "Transmission sequence number: DATA chunks are numbered in the order in which they are sent. A TSN that is sent again keeps its number.", "9260 1.3"],
  ["SACK", "Selective acknowledgement: the reader's host tells up to which TSN all has arrived, and what has arrived beyond that.", "9260 3.3.4"],
  ["HEARTBEAT", "A small chunk that asks whether a path works. The other host answers with HEARTBEAT ACK, which also measures the round trip.", "9260 8.3", /heartbeat/i],
  ["RTO", "Retransmission timeout: how long the sender waits for an acknowledgement. It follows the measured round trips, is at least RTO.Min (1 s in the standard), and doubles with each timeout.", "9260 6.3"],
  ["T3-rtx", "The timer of a path that runs for one RTO while data is not acknowledged. When it expires, that is a timeout.", "9260 6.3.2", /T3-rtx|timeout/i],
  ["cwnd", "Congestion window: the most bytes that may be on their way on a path without an acknowledgement.", "9260 7.2", /cwnd|congestion window|\bwindows?\b/i],
  ["ssthresh", "Slow start threshold: below it cwnd doubles in each round trip, above it cwnd grows slowly.", "9260 7.2"],
  ["fast retransmit", "A chunk is sent again without a timeout, when three SACKs have shown that later ones arrived.", "9260 7.2.4", /fast retransmi/i],
  ["Karn's rule", "An acknowledgement of a chunk that was sent twice measures no round trip: nobody knows which copy it answers.", "9260 6.3.1, rule C5"],
  ["PMR", "Path.Max.Retrans: how many timeouts in a row a path may have. One more, and the path is inactive. The standard has 5.", "9260 8.2", /PMR|Path\.Max\.Retrans/],
  ["inactive", "The state of a path that the sender has given up until it answers again. Such a path has failed for the sender; perhaps it has not in fact.", "9260 8.2", /inactive/i],
  ["potentially failed", "The state of a path with one timeout (PF for short): it gets no new data, only heartbeats, until it answers.", "RFC 7829 section 3; Natarajan and others 2006, section 3", /potentially failed|\bPF\b/],
  ["unconfirmed", "The state of an address that has not yet answered a heartbeat. It gets no data.", "9260 5.4"],
  ["failover", "New data moves from one path to another one. The counts on this page include the way back.", "9260 6.4.1", /failover/i],
  ["spurious failover", "A failover from a path that works. The paper counts how often the primary is given up though it works (the column \"given up\"; measures.paths[].failures in the command's JSON). The command's spurious_failovers has only the moves of new data from such a path to one that is active then.", "Caro and others 2006, section III.2; docs/mechanisms.md", /spurious/i],
  ["given up", "How often the path became inactive.", "9260 8.2", /given up|gives? up/i],
  ["stall", "The time in which the reader gets nothing.", "byway's word", /stall/i],
  ["policy", "A set of settings of the sender. Each column of the simulation has its own.", "byway's word", /polic/i],
  ["preset", "A whole configuration with a name, such as rfc2960.", "byway's word"],
  ["ns-2", "The network simulator that the papers used, version 2.", "nsnam.sourceforge.net/wiki"],
  ["AllRtxAlt", "Scheme: everything that is sent again goes to an alternate path.", "Caro and others 2003; RFC 2960 6.4"],
  ["AllRtxSame", "Scheme: everything that is sent again goes to the path that lost it.", "Caro and others 2003"],
  ["FrSameRtoAlt", "Scheme: a fast retransmit goes to the same path, after a timeout it goes to an alternate path.", "Caro and others 2003"],
  ["MFR", "Multiple fast retransmit: a chunk may be sent again by fast retransmit more than once.", "Caro and others 2004, section II.B"],
  ["HAR", "Heartbeat after RTO: after each timeout a heartbeat asks the path, and its answer measures the round trip.", "Caro and others 2004, section II.B"],
  ["TS", "Timestamps in packets: then a chunk that is sent again measures the round trip, too.", "Caro and others 2004, section II.B"],
  ["CPT", "Change primary threshold: with more heartbeats to the old primary lost than this, the path in use becomes the primary, and data does not go back.", "Caro and others 2006, section IV"],
  ["Dmax", "The longest time in which the sender notices a dead path, when heartbeats decide; n is the number of heartbeats in that time.", "Cortes, Garcia 2008, section III"],
  ["CMT", "Concurrent multipath transfer: new data goes to all active paths at the same time.", "Iyengar, Amer, Stewart 2006"],
  ["CMT-PF", "CMT in which a path is potentially failed after one timeout. When it answers, its cwnd begins with one packet (CMT-PF1) or two (CMT-PF2).", "Natarajan and others 2006, section 3", /CMT-PF/],
  ["RTX-CWND", "With CMT, what is sent again goes to the path with the largest cwnd. RTX-SSTHRESH takes the largest ssthresh, RTX-SAME the same path.", "Iyengar, Amer, Stewart 2006, section V", /RTX-/],
  ["receive buffer", "Where the reader's host keeps what has arrived. While a TSN is missing, the later ones wait there; when it is full, the sender must stop.", "9260 6.2.1; Natarajan and others 2006, section 2", /receive buffer/i],
  ["probe timeout", "The sender doubts a path when an acknowledgement is overdue by the path's own round trips, and does not wait for the RTO.", "byway's own; after RFC 8985 section 7", /probe timeout/i],
  ["byway", "The program that runs in this page. As a policy: the defaults of its sockets.", "README.md"],
  ["seed", "The number from which all chance of a run comes. The same seed gives the same losses.", "byway's word", /seed/i],
  ["cross traffic", "Packets of others on the same path.", "Caro and others 2003", /cross traffic/i],
];

const plain = text => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const patternOf = ([word, , , pattern]) => pattern || new RegExp(`(?<![\\w-])${plain(word)}(?![\\w])`);
const wordId = word => "word-" + word.replace(/[^A-Za-z0-9]+/g, "-");

// The words that stand in a text.
const wordsIn = text => WORDS.filter(w => patternOf(w).test(text)).map(w => w[0]);

// The buttons of the words that this stop or scene uses.
function explain() {
  if (!view) return;
  const shown = stop >= 0 ? TOUR[stop] : null;
  const texts = [...["stop-title", "stop-text", "stop-try", "figure-caption", "scene-name", "scene-words"].map(id => $(id).textContent),
    ...(shown ? [shown.x, shown.y, ...shown.lines.map(l => `${l.name} ${l.simulator}`)] : []), ...view.lanes.map(l => `${l.policy} ${l.note}`)];
  $("stop-words").replaceChildren("Words here:", ...wordsIn(texts.join("\n")).map(w => wordButton(w)), wordButton(undefined, "All words (?)"));
}

const wordButton = (word, text = word) => make("button", { type: "button", className: "word", "aria-haspopup": "dialog", onclick: () => openWords(word) }, text);

// Opens the list of words, at one of them.
function openWords(word) {
  if (!$("words").open) $("words").showModal();
  const at = word && $(wordId(word));
  if (at) { at.focus(); at.scrollIntoView({ block: "start" }); } else $("words").scrollTop = 0;
}

function glossary() {
  const sorted = [...WORDS].sort((a, b) => a[0].localeCompare(b[0], "en", { sensitivity: "base" }));
  $("words-list").append(...sorted.flatMap(([word, meaning, source]) =>
    [make("dt", { id: wordId(word), tabIndex: -1 }, make("dfn", {}, word)), make("dd", {}, meaning + " ", make("cite", {}, source))]));
  const drawn = [...LOADS, ...Object.values(STATES), "T3-rtx cwnd RTO TSN stall failovers spurious given up"].join(" ");
  $("drawn-words").append("Words of the drawings:", ...wordsIn(drawn).map(w => wordButton(w)));
  $("words-close").addEventListener("click", () => $("words").close());
  // A click beside it.
  $("words").addEventListener("click", event => { if (event.target === $("words")) $("words").close(); });
}
