//! Compares the races of eight logs of real apps, computed by the relation of DroidRacer's source, with the races that
//! DroidRacer reports at the end of these logs: the races and their headings must be the same.

use crate::droidracer_report::{Field, Report, Reported, report};
use crate::support::read;
use raceflip::base::Id;
use raceflip::detect::happens_before::{Race, RaceClass, SourceOrder};
use raceflip::trace::{OpNo, Trace};
use std::collections::{BTreeMap, BTreeSet};

const EM: &str = "em-explorer/test-traces/tacas-2016";
const PLDI: &str = "droidracer/pldi-2014-tested-apps";

/// A log: its name, its folder, the numbers of races and fields in its report, and the number of fields that are found
/// although the report lacks them.
pub(crate) struct Log {
    pub(crate) name: &'static str,
    folder: &'static str,
    app: &'static str,
    races: usize,
    fields: usize,
    pub(crate) extra: usize,
    /// Number of fields whose races are at one address that belonged to two objects of two classes. Here these are two
    /// locations, so there is no race.
    reused: usize,
    /// Fields that are found in a class whose heading in the report lacks them.
    unlike: &'static [(&'static str, &'static str)],
}

const fn log(name: &'static str, folder: &'static str, app: &'static str, races: usize, fields: usize) -> Log {
    Log { name, folder, app, races, fields, extra: 0, reused: 0, unlike: &[] }
}

pub(crate) const LOGS: [Log; 8] = [
    log("character-recognition", EM, "charachter-recognition", 4, 3),
    log("music", EM, "music", 8, 4),
    log("mytracks", EM, "mytracks", 3, 2),
    log("remind-me", EM, "remind-me", 1, 1),
    log("aarddict", EM, "aarddict", 1, 1),
    log("RemindMe", PLDI, "RemindMe", 54, 36),
    log("Twitter", PLDI, "twitter", 31, 20),
    Log {
        reused: 1,
        unlike: &[("Ljava/util/concurrent/atomic/AtomicInteger;", "8")],
        ..log("Adobe Reader", PLDI, "adobe-reader", 125, 51)
    },
];

/// A log with its trace and its report, ready to be compared.
pub(crate) struct Case {
    pub(crate) trace: Trace,
    pub(crate) report: Report,
    /// Operation of each access, by the access's number in the log.
    ops: BTreeMap<u32, OpNo>,
}

impl Log {
    /// Returns the text of the log.
    pub(crate) fn text(&self) -> String {
        read(&self.path())
    }

    /// Returns the path of the log from the top of the repository.
    pub(crate) fn path(&self) -> String {
        let file = if self.folder == EM { "abc_log.txt" } else { "abc_log.txt1" };
        format!("tests/it/traces/{}/{}/{file}", self.folder, self.app)
    }

    pub(crate) fn case(&self) -> Case {
        let text = self.text();
        let (trace, report) = (raceflip::formats::traces::read(self.name, text.as_bytes()).unwrap(), report(&text));
        let of_line: BTreeMap<u32, OpNo> = trace
            .ops
            .enumerate()
            .filter(|(_, op)| op.action.access().is_some())
            .map(|(no, _)| (trace.lines[no.index()], no))
            .collect();
        let ops = report.lines.iter().filter_map(|(id, line)| Some((*id, *of_line.get(line)?))).collect();
        Case { trace, report, ops }
    }
}

impl Case {
    /// Returns the field of a race, named as in the report.
    pub(crate) fn field(&self, race: &Race) -> Field {
        let name = &self.trace.fields[self.trace.places[race.location].field];
        let (class, field) = name.rsplit_once('.').unwrap();
        (class.to_owned(), field.to_owned())
    }

    /// Returns the fields of the races found here, by class. Races of databases are left out, because DroidRacer does
    /// not report them.
    pub(crate) fn ours(&self, races: &[Race]) -> BTreeMap<RaceClass, BTreeSet<Field>> {
        let mut ours: BTreeMap<RaceClass, BTreeSet<Field>> = BTreeMap::new();
        for race in races.iter().filter(|race| !self.trace.places[race.location].name.starts_with("database:")) {
            ours.entry(race.class).or_default().insert(self.field(race));
        }
        ours
    }

    /// Returns the fields of the report, by class. Under its heading for co-enabled events, the report names objects;
    /// their fields come from their races.
    pub(crate) fn theirs(&self) -> BTreeMap<RaceClass, BTreeSet<Field>> {
        let of = |class: RaceClass| -> BTreeSet<Field> {
            let below = self.report.headings.get(heading(class)).into_iter().flatten();
            below
                .flat_map(|(what, field)| {
                    if what.starts_with("0x") { self.classes(what, field) } else { vec![(what.clone(), field.clone())] }
                })
                .collect()
        };
        RaceClass::ALL.into_iter().map(|class| (class, of(class))).filter(|(_, fields)| !fields.is_empty()).collect()
    }

    // Returns the fields of an object, with their classes, from the reported races.
    fn classes(&self, object: &str, field: &str) -> Vec<Field> {
        let name =
            |id: u32| self.trace.ops[self.ops[&id]].action.access().map_or("", |(at, _)| &self.trace.places[at].name);
        let of = |race: &&Reported| race.field.1 == field && name(race.first).split(' ').next() == Some(object);
        self.report.races.iter().filter(of).map(|race| race.field.clone()).collect()
    }

    // Returns the fields of reported races at one address whose accesses are to two classes.
    fn reused(&self) -> BTreeSet<Field> {
        let place = |id: u32| self.trace.ops[self.ops[&id]].action.access().map(|(at, _)| at);
        let of = |race: &&Reported| place(race.first) != place(race.second);
        self.report.races.iter().filter(of).map(|race| race.field.clone()).collect()
    }

    /// Returns the fields that the report names.
    pub(crate) fn fields(&self) -> BTreeSet<Field> {
        self.report.races.iter().map(|race| race.field.clone()).collect()
    }
}

fn heading(class: RaceClass) -> &'static str {
    match class {
        RaceClass::MultiThreaded => "Multithreaded races",
        RaceClass::CoEnabled => "Races due to co-enabled events",
        RaceClass::Delayed => "Races due to a delayed post in ancestor asyncblocks",
        RaceClass::CrossPosted => "Races due to cross thread post in ancestor asyncblocks",
        RaceClass::Unknown => "Uncategorized races",
        RaceClass::Causal(_) => unreachable!("DroidRacer has no such class"),
    }
}

/// The races that DroidRacer reports are found and no others, except for the differences that [`LOGS`] lists.
#[test]
fn what_droidracer_reports_is_found_and_nothing_else() {
    for log in &LOGS {
        let case = log.case();
        let name = log.name;
        assert_eq!((case.report.races.len(), case.fields().len()), (log.races, log.fields), "{name}");
        let order = SourceOrder::new(&case.trace).unwrap();
        for race in &case.report.races {
            let (a, b) = (case.ops[&race.first], case.ops[&race.second]);
            assert!(!order.is_before(a, b) && !order.is_before(b, a), "{name}: {} {}", race.first, race.second);
        }
        let races = order.races();
        let (ours, theirs) = (case.ours(&races), case.theirs());
        let all: BTreeSet<Field> = ours.values().flatten().cloned().collect();
        assert_eq!(all.difference(&case.fields()).count(), log.extra, "{name}: {:?}", all.difference(&case.fields()));
        let reused = case.reused();
        assert_eq!(reused.len(), log.reused, "{name}");
        let lost: Vec<Field> =
            case.fields().difference(&all).filter(|field| !reused.contains(*field)).cloned().collect();
        assert!(lost.is_empty(), "{name}: {lost:?}");
        headings(log, &ours, &theirs, &reused);
    }
}

// DroidRacer lists a race under a heading for each of its fields and objects. It also lists a race of delayed posts
// under the heading of cross posts, unless it is the first race of its object.
fn headings(
    log: &Log,
    ours: &BTreeMap<RaceClass, BTreeSet<Field>>,
    theirs: &BTreeMap<RaceClass, BTreeSet<Field>>,
    reused: &BTreeSet<Field>,
) {
    let none = BTreeSet::new();
    let unlike: BTreeSet<Field> =
        log.unlike.iter().map(|(class, field)| ((*class).to_owned(), (*field).to_owned())).collect();
    for class in RaceClass::ALL {
        let [ours_here, theirs_here] = [ours, theirs].map(|of| of.get(&class).unwrap_or(&none));
        let only_ours: BTreeSet<Field> = ours_here.difference(theirs_here).cloned().collect();
        assert!(only_ours.is_subset(&unlike), "{}: {class:?} only here: {only_ours:?}", log.name);
        for field in theirs_here.difference(ours_here).filter(|field| !reused.contains(*field)) {
            let delayed = ours.get(&RaceClass::Delayed).is_some_and(|fields| fields.contains(field));
            assert!(class == RaceClass::CrossPosted && delayed, "{}: {class:?} only there: {field:?}", log.name);
        }
    }
}
