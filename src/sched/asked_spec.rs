//! The name of the `asked` strategy on a command line: the pair, the base, and the options.

use super::asked::{Ask, Asked, AskedBase, AskedScope};
use super::error::SpecError;
use super::spec::Spec;
use super::{Pos, RandomWalk, SiteSpec};
use crate::base::IndexVec;
use crate::event::{Site, SiteId};
use crate::world::{SitePart, Statement};
use std::fmt;

/// Parameters of the `asked` strategy: the pair, the base strategy, and how long the run is asked for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AskedSpec {
    /// Who is to be the last to write.
    pub writer: AskedWriter,
    /// The statement that is to read.
    pub reader: SiteSpec,
    /// Whether the base is partial order sampling, and not a random walk.
    pub pos: bool,
    /// `once`: whether the ask is over when the pair has come.
    pub once: bool,
    /// `pass=N`: the number of visits of the reader that pass first.
    pub passes: u32,
    /// `patience=N`: the number of choices in which an actor is avoided, after which the ask is dropped.
    pub patience: u64,
}

/// The writer of a pair.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AskedWriter {
    /// The first value of the location, which no statement has written.
    First,
    /// A statement.
    Site(SiteSpec),
}

const PATIENCE: u64 = 1_000;
const FIRST: &str = "first";
const RANDOM: &str = "random";
const POS: &str = "pos";

impl Spec for AskedSpec {
    type Strategy = Asked;

    const NAME: &'static str = "asked";
    const SYNTAX: &'static str = "asked:SITE>SITE[:random|:pos][,once][,pass=N][,patience=N]";
    const EXAMPLES: &'static [&'static str] = &["asked:SITE>SITE"];

    fn parse(text: Option<&str>) -> Result<Option<Self>, SpecError> {
        let Some((writer, rest)) = text.and_then(|text| text.split_once('>')) else { return Ok(None) };
        let (reader, options) = rest.split_once(',').map_or((rest, None), |(reader, options)| (reader, Some(options)));
        let (reader, pos) = match reader.rsplit_once(':') {
            Some((reader, RANDOM)) => (reader, false),
            Some((reader, POS)) => (reader, true),
            _ => (reader, false),
        };
        let writer = match writer.trim() {
            FIRST => AskedWriter::First,
            site => AskedWriter::Site(site.parse()?),
        };
        let mut spec = Self { writer, reader: reader.parse()?, pos, once: false, passes: 0, patience: PATIENCE };
        for option in options.iter().flat_map(|o| o.split(',')) {
            let bad = || Self::no_option(option, "`once`, `pass=2` or `patience=1000`");
            match option.split_once('=') {
                None if option == "once" => spec.once = true,
                Some(("pass", n)) => spec.passes = n.parse().map_err(|_| bad())?,
                Some(("patience", n)) => spec.patience = n.parse().map_err(|_| bad())?,
                _ => return Err(bad()),
            }
        }
        Ok(Some(spec))
    }

    fn targets(&self) -> Vec<SiteSpec> {
        let writer = match &self.writer {
            AskedWriter::First => None,
            AskedWriter::Site(site) => Some(site.clone()),
        };
        writer.into_iter().chain([self.reader.clone()]).collect()
    }

    fn build(&self, sites: &IndexVec<SiteId, Site>) -> Result<Asked, SpecError> {
        let readers = self.reader.resolve_any(sites)?;
        let writers = match &self.writer {
            AskedWriter::First => vec![Statement::FIRST],
            AskedWriter::Site(site) => statements(&site.resolve_any(sites)?),
        };
        // No run has told which locations the two statements have in common. So everything counts that has the name of
        // something that the reader touches.
        let shares = |site: &Site| readers.iter().any(|reader| sites[*reader].last_part() == site.last_part());
        let scope = sites.enumerate().filter(|(_, site)| shares(site)).map(|(id, _)| id).collect();
        let ask = Ask {
            writers,
            readers: statements(&readers),
            scope: AskedScope::Sites(scope),
            stays: !self.once,
            passes: self.passes,
            patience: self.patience,
        };
        let base = if self.pos { AskedBase::Pos(Pos::new()) } else { AskedBase::Random(RandomWalk::new()) };
        Ok(Asked::new(base, Some(ask)))
    }
}

// All operations of these sites.
fn statements(sites: &[SiteId]) -> Vec<Statement> {
    let parts = [SitePart::Whole, SitePart::Second, SitePart::Next];
    sites.iter().flat_map(|site| parts.map(|part| Statement::at(*site, part))).collect()
}

impl fmt::Display for AskedSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", Self::NAME)?;
        match &self.writer {
            AskedWriter::First => f.write_str(FIRST)?,
            AskedWriter::Site(site) => site.fmt(f)?,
        }
        write!(f, ">{}:{}", self.reader, if self.pos { POS } else { RANDOM })?;
        if self.once {
            f.write_str(",once")?;
        }
        if self.passes > 0 {
            write!(f, ",pass={}", self.passes)?;
        }
        if self.patience == PATIENCE { Ok(()) } else { write!(f, ",patience={}", self.patience) }
    }
}
