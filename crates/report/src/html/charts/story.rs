//! How the state of a crash came about: the operations of the program in order, each in the lane of its thread, with
//! what was on disk of it when the power failed and which sync guarantees that.

use iostrata_core::crash::{Finding, Left, Moment, Role, Thread};
use iostrata_core::noun::counted;

use super::svg::{Area, Svg, letters, text_width};
use crate::format::beginning;
use crate::html::markup::Markup;
use crate::view::crash::left;

/// Below this width the state stands on a line of its own.
const TWO_LINES_BELOW: f64 = 500.0;
/// Heights of an operation on one line and on two.
const ROW: f64 = 25.0;
const TALL_ROW: f64 = 41.0;
/// Height of a line of the legend.
const LEGEND_LINE: f64 = 20.0;
/// Distance of the lanes, and the room that all of them may take.
const LANE: f64 = 18.0;
const LANES: f64 = 150.0;
/// Size of a symbol, from its middle.
const SYMBOL: f64 = 6.0;
/// Room of the lines that lead from syncs to what they made durable, and the distance of these.
const REACHES: f64 = 20.0;
const REACH: f64 = 6.0;
/// Room for what is said of the power failure.
const CRASH: f64 = 28.0;
/// Operations that the summary names.
const NAMED: usize = 3;

/// The drawing at a width; `None` where the operations of a finding are not known.
pub(super) fn draw(finding: &Finding, class: &str, width: f64) -> Option<Markup> {
    if finding.timeline.is_empty() {
        return None;
    }
    let story = Story::of(finding, width);
    let mut svg = Svg::new(width);
    let mut top = story.legend(&mut svg);
    top = story.threads(&mut svg, top);
    let rows = finding.timeline.len() as f64 * story.row;
    story.grid(&mut svg, top, rows);
    for (place, moment) in finding.timeline.iter().enumerate() {
        story.operation(&mut svg, moment, top + place as f64 * story.row);
    }
    story.reaches(&mut svg, top);
    let bottom = top + rows + 4.0;
    svg.line("crash", (0.0, bottom), (width, bottom));
    svg.text("group", (0.0, bottom + 18.0), "the power fails");
    Some(svg.finish(class, bottom + CRASH))
}

/// The same in words.
pub(super) fn words(finding: &Finding) -> String {
    let timeline = &finding.timeline;
    let count = counted(timeline.len() as u64, "operation");
    let mut words = vec![format!(
        "{count} until the power failed, in the order in which they ended."
    )];
    let gone: Vec<String> = timeline
        .iter()
        .filter(|moment| matches!(moment.left, Left::Lost | Left::Partly))
        .map(|moment| format!("{} ({})", numbered(moment), left(moment)))
        .collect();
    if !gone.is_empty() {
        let named = gone[..gone.len().min(NAMED)].join("; ");
        let more = gone.len().saturating_sub(NAMED);
        let more = if more > 0 {
            format!("; and {more} more")
        } else {
            String::new()
        };
        words.push(format!("Not all on disk: {named}{more}."));
    }
    let unknown = timeline
        .iter()
        .filter(|moment| moment.left == Left::Unknown);
    match unknown.count() {
        0 => {}
        some => words.push(format!(
            "{} on disk or not: blocks name no operation.",
            counted(some as u64, "operation")
        )),
    }
    let durable = timeline
        .iter()
        .filter(|moment| moment.left == Left::Durable);
    match durable.count() {
        0 => words.push("No sync had made anything durable.".to_owned()),
        some => {
            let some = counted(some as u64, "operation");
            words.push(format!("{some} durable by a sync."));
        }
    }
    if let Some(out @ 1..) = finding.timeline_left_out {
        let out = counted(out, "operation");
        words.push(format!("{out} farther from what was lost: not shown."));
    }
    words.join(" ")
}

/// `#23 write of 4,096 B to settings.new at offset 0`.
fn numbered(moment: &Moment) -> String {
    let operation = &moment.operation;
    format!("#{} {}", operation.op, operation.text())
}

/// Where the parts of a drawing are.
struct Story<'f> {
    finding: &'f Finding,
    threads: Vec<Thread>,
    width: f64,
    row: f64,
    /// Distance of the lanes.
    lane: f64,
    /// Left edge of the texts.
    text: f64,
    /// Right edge of the states, where they stand beside the operations.
    state: f64,
}

impl<'f> Story<'f> {
    fn of(finding: &'f Finding, width: f64) -> Self {
        let mut threads: Vec<Thread> = Vec::new();
        for thread in finding.timeline.iter().filter_map(|moment| moment.thread) {
            if !threads.contains(&thread) {
                threads.push(thread);
            }
        }
        let lanes = threads.len().max(1) as f64;
        let lane = LANE.min(LANES / lanes);
        let is_durable = |moment: &Moment| moment.durable_by.is_some();
        let reaches = if finding.timeline.iter().any(is_durable) {
            REACHES
        } else {
            0.0
        };
        Self {
            finding,
            threads,
            width,
            row: if width < TWO_LINES_BELOW {
                TALL_ROW
            } else {
                ROW
            },
            lane,
            text: lanes * lane + 6.0,
            state: width - reaches - 4.0,
        }
    }

    fn is_tall(&self) -> bool {
        self.row > ROW
    }

    /// Middle of a lane.
    fn lane_of(&self, moment: &Moment) -> f64 {
        let thread = moment.thread;
        let lane = self
            .threads
            .iter()
            .position(|known| Some(*known) == thread)
            .unwrap_or(0);
        self.middle(lane)
    }

    fn middle(&self, lane: usize) -> f64 {
        (lane as f64 + 0.5) * self.lane
    }

    /// Draws the meaning of the symbols that the drawing has; returns where it ends.
    fn legend(&self, svg: &mut Svg) -> f64 {
        const ALL: [(Symbol, &str); 7] = [
            (Symbol::Durable, "durable: a sync guarantees it"),
            (Symbol::OnDisk, "on disk by chance"),
            (Symbol::Partly, "partly on disk"),
            (Symbol::Lost, "lost"),
            (Symbol::Sync, "sync"),
            (Symbol::Report, "output or message sent"),
            (Symbol::Other, "changed nothing"),
        ];
        let (mut x, mut y) = (0.0, 0.0);
        for (symbol, name) in ALL {
            let mut shown = self.finding.timeline.iter().map(Symbol::of);
            if !shown.any(|shown| shown == symbol) {
                continue;
            }
            let needed = text_width(name) + 26.0;
            if x > 0.0 && x + needed > self.width {
                (x, y) = (0.0, y + LEGEND_LINE);
            }
            symbol.draw(svg, (x + SYMBOL + 1.0, y + 9.0));
            svg.text("tick", (x + 18.0, y + 13.0), name);
            x += needed;
        }
        y + LEGEND_LINE + 6.0
    }

    /// Names the lanes where there are several.
    fn threads(&self, svg: &mut Svg, top: f64) -> f64 {
        if self.threads.len() < 2 {
            return top;
        }
        let mut y = top;
        for (lane, thread) in self.threads.iter().enumerate() {
            let (process, number) = (thread.process, thread.thread);
            let name = if process == number {
                format!("process {process}")
            } else {
                format!("process {process}, thread {number}")
            };
            let x = self.middle(lane);
            svg.line("grid", (x, y + 8.0), (x, top + self.named()));
            svg.line("grid", (x, y + 8.0), (self.text - 3.0, y + 8.0));
            svg.text("tick", (self.text, y + 12.0), &name);
            y += LEGEND_LINE - 4.0;
        }
        top + self.named()
    }

    /// Height of the names of the lanes.
    fn named(&self) -> f64 {
        self.threads.len() as f64 * (LEGEND_LINE - 4.0) + 2.0
    }

    fn grid(&self, svg: &mut Svg, top: f64, height: f64) {
        for lane in 0..self.threads.len() {
            let x = self.middle(lane);
            svg.line("grid", (x, top), (x, top + height));
        }
    }

    fn operation(&self, svg: &mut Svg, moment: &Moment, top: f64) {
        let text = numbered(moment);
        let state = left(moment);
        let symbol = Symbol::of(moment);
        svg.mark(&format!("{text}: {state}"), |svg| {
            let ground = if self.is_cited(moment) {
                "cited"
            } else {
                "reach"
            };
            let area = Area::at((0.0, top), (self.width, self.row));
            svg.rect(ground, area);
            symbol.draw(svg, (self.lane_of(moment), top + ROW / 2.0));
            let room = if self.is_tall() {
                self.state - self.text
            } else {
                self.state - self.text - text_width(&state) - 12.0
            };
            let class = if symbol == Symbol::Lost {
                "label gone"
            } else {
                "label"
            };
            let text = beginning(&text, letters(room));
            svg.text(class, (self.text, top + 16.0), &text);
            let (class, at) = if self.is_tall() {
                ("tick", (self.text, top + 32.0))
            } else {
                ("tick end", (self.state, top + 16.0))
            };
            svg.text(class, at, &state);
        });
    }

    /// The operations that the finding is about.
    fn is_cited(&self, moment: &Moment) -> bool {
        let own = moment.operation.op;
        let before = self.finding.before.as_ref();
        self.finding.culprit.op == own || before.is_some_and(|before| before.op == own)
    }

    /// Lines from each sync to the operations that it made durable.
    fn reaches(&self, svg: &mut Svg, top: f64) {
        let timeline = &self.finding.timeline;
        let y = |place: usize| top + place as f64 * self.row + ROW / 2.0;
        let mut drawn = 0;
        for (place, sync) in timeline.iter().enumerate() {
            let is_sync = sync.role == Some(Role::Sync);
            let own = Some(sync.operation.op);
            let covered = timeline.iter().enumerate();
            let covered: Vec<usize> = covered
                .filter(|(at, moment)| is_sync && *at < place && moment.durable_by == own)
                .map(|(at, _)| at)
                .collect();
            let Some(first) = covered.first() else {
                continue;
            };
            let x = self.width - 3.0 - f64::from(drawn % 3) * REACH;
            drawn += 1;
            svg.line("covers", (x, y(*first)), (x, y(place)));
            for at in covered.iter().chain([&place]) {
                svg.line("covers", (self.state + 3.0, y(*at)), (x, y(*at)));
            }
        }
    }
}

/// What stands for an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Symbol {
    Durable,
    OnDisk,
    Partly,
    Lost,
    Sync,
    Report,
    Unknown,
    Other,
}

impl Symbol {
    fn of(moment: &Moment) -> Self {
        match (moment.left, moment.role) {
            (Left::Durable, _) => Self::Durable,
            (Left::OnDisk, _) => Self::OnDisk,
            (Left::Partly, _) => Self::Partly,
            (Left::Lost, _) => Self::Lost,
            (Left::Unknown, _) => Self::Unknown,
            (Left::Done, Some(Role::Sync)) => Self::Sync,
            (Left::Done, Some(Role::Report)) => Self::Report,
            (Left::Done, _) => Self::Other,
        }
    }

    fn draw(self, svg: &mut Svg, (x, y): (f64, f64)) {
        let cross = |svg: &mut Svg| {
            let arm = SYMBOL * 0.6;
            svg.line("missing", (x - arm, y - arm), (x + arm, y + arm));
            svg.line("missing", (x - arm, y + arm), (x + arm, y - arm));
        };
        match self {
            Self::Durable => {
                svg.circle("held", (x, y), SYMBOL);
                let tick = format!("M{} {}l2 2.5l4 -5", x - 3.0, y);
                svg.path("tick-off", &tick);
            }
            Self::OnDisk => svg.circle("chance", (x, y), SYMBOL),
            Self::Partly => {
                svg.circle("hollow", (x, y), SYMBOL);
                let half = format!(
                    "M{x} {}a{SYMBOL} {SYMBOL} 0 0 0 0 {}z",
                    y - SYMBOL,
                    SYMBOL * 2.0
                );
                svg.path("chance", &half);
            }
            Self::Lost => {
                svg.circle("hollow", (x, y), SYMBOL);
                cross(svg);
            }
            Self::Unknown => svg.circle("hollow", (x, y), SYMBOL),
            Self::Sync => {
                let size = SYMBOL + 1.0;
                let diamond = format!(
                    "M{x} {}l{size} {size}l-{size} {size}l-{size} -{size}z",
                    y - size
                );
                svg.path("sync", &diamond);
            }
            Self::Report => {
                let size = SYMBOL * 1.8;
                let corner = (x - size / 2.0, y - size / 2.0);
                svg.rect("report", Area::at(corner, (size, size)));
            }
            Self::Other => svg.circle("other", (x, y), SYMBOL / 2.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostrata_core::crash::CrashResult;

    const SAVED: &str = include_str!("../../../tests/browser/saved/crash.json");

    fn finding() -> Finding {
        let mut result: CrashResult = serde_json::from_str(SAVED).unwrap();
        result.findings.swap_remove(0)
    }

    /// A write that a sync guarantees, another one that is lost, and a rename in another process.
    fn small() -> Finding {
        let mut finding = finding();
        let model = finding.timeline[0].clone();
        let moment = |op: u64, call: &str, (left, role): (Left, Role), process: u32| {
            let mut moment = model.clone();
            moment.operation.op = op;
            moment.operation.syscall = call.to_owned();
            moment.operation.path = Some("f".to_owned());
            moment.operation.other_path = None;
            (moment.operation.offset, moment.operation.bytes) = (None, None);
            (moment.left, moment.role) = (left, Some(role));
            moment.thread = Some(Thread {
                process,
                thread: process,
            });
            moment.returned = Some(true);
            moment.durable_by = (left == Left::Durable).then_some(3);
            moment
        };
        finding.timeline = vec![
            moment(2, "write", (Left::Durable, Role::Change), 10),
            moment(3, "fsync", (Left::Done, Role::Sync), 10),
            moment(4, "write", (Left::Lost, Role::Change), 10),
            moment(5, "rename", (Left::OnDisk, Role::Change), 11),
        ];
        finding.timeline_left_out = Some(7);
        finding.culprit.op = 4;
        finding.before = Some(finding.timeline[3].operation.clone());
        finding
    }

    #[test]
    fn the_words_say_what_is_lost_and_what_is_durable() {
        assert_eq!(
            words(&small()),
            "4 operations until the power failed, in the order in which they ended. Not all on disk: #4 write of f \
             (lost). 1 operation durable by a sync. 7 operations farther from what was lost: not shown."
        );
        let mut nothing = small();
        nothing.timeline.drain(..2);
        nothing.timeline_left_out = Some(0);
        assert_eq!(
            words(&nothing),
            "2 operations until the power failed, in the order in which they ended. Not all on disk: #4 write of f \
             (lost). No sync had made anything durable."
        );
    }

    #[test]
    fn each_operation_has_a_symbol_in_the_lane_of_its_process() {
        let text = draw(&small(), "wide", 760.0).unwrap().finish();
        for (symbol, count) in [("held", 2), ("chance", 2), ("hollow", 2), ("sync", 2)] {
            let shape = format!("class=\"{symbol}\"");
            // One of them explains it.
            assert_eq!(text.matches(&shape).count(), count, "{symbol}: {text}");
        }
        assert!(
            text.contains("<title>#4 write of f: lost</title>"),
            "{text}"
        );
        assert!(text.contains(">process 11<"), "{text}");
        assert!(text.contains(r#"class="chance" cx="27""#), "{text}");
        // What the finding is about: the lost write, and the rename that should have waited.
        assert_eq!(text.matches(r#"class="cited""#).count(), 2);
        // From the write to its sync, and to the line from each of both.
        assert_eq!(text.matches(r#"class="covers""#).count(), 3);
        assert_eq!(text.matches(r#"class="crash""#).count(), 1);
    }

    #[test]
    fn a_finding_without_operations_has_no_drawing() {
        let mut finding = small();
        finding.timeline.clear();
        assert!(draw(&finding, "wide", 760.0).is_none());
    }

    #[test]
    fn results_of_earlier_versions_are_drawn() {
        let mut finding = small();
        for moment in &mut finding.timeline {
            (moment.role, moment.thread) = (None, None);
            (moment.returned, moment.durable_by) = (None, None);
        }
        let text = draw(&finding, "narrow", 344.0).unwrap().finish();
        assert_eq!(text.matches(r#"class="other""#).count(), 2);
        assert!(!text.contains("process"), "{text}");
    }
}
