//! `raceflip static`: what is in one order in every run, without running anything.

use crate::cli::args::{DefineArgs, ResultArgs};
use crate::cli::io::exit::ExitStatus;
use crate::cli::models::per_model::CommandModels;
use crate::cli::{CommandContext, Refusal};
use crate::sched::site_text;
use crate::statics::{SitesClaim, StaticsOptions, analyze};
use std::path::PathBuf;

/// Print what is in one order in every run, without running the model
#[derive(clap::Args, Debug)]
pub(in crate::cli) struct Args {
    /// Models, and folders of models
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    defines: DefineArgs,
    #[command(flatten)]
    result: ResultArgs,
}

pub(in crate::cli) fn run(args: Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    let models = CommandModels::find(&args.paths, args.defines.resolve())?;
    models.each(&args.result, context, || None, |model, context| {
        let statics = analyze(&model.program, &StaticsOptions::default());
        let out = &mut context.out;
        let sites = &model.program.sites;
        for a in sites.ids() {
            for b in sites.ids().filter(|b| *b >= a) {
                let claim = statics.sites(a, b);
                if claim != SitesClaim::NoConflict {
                    writeln!(out, "{} ~ {}: {claim:?} {:?}", site_text(sites, a), site_text(sites, b), sites[a].place);
                }
            }
        }
        for (a, b) in statics.bodies() {
            writeln!(out, "{} < {}", model.program.bodies[a].name, model.program.bodies[b].name);
        }
        Ok((ExitStatus::Nothing, None))
    })
}
