//! The table of requests about texts, and what the server can do.

use super::documents::Document;
use super::judge::JobKind;
use super::libraries::LibraryFiles;
use super::{answers, lenses, symbols};
use lsp_server::ErrorCode;
use lsp_types::{
    CodeLensParams, CompletionOptions, CompletionParams, DocumentFormattingParams, DocumentSymbolParams,
    ExecuteCommandOptions, InlayHintParams, OneOf, ReferenceParams, RenameOptions, RenameParams, ServerCapabilities,
    TextDocumentPositionParams, TextDocumentSyncCapability, TextDocumentSyncKind, Uri, WorkDoneProgressOptions,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::collections::BTreeMap;

/// The open files, by their addresses.
pub(super) type Documents = BTreeMap<String, Document>;

/// The answer to a request: a result, or a code with a message.
pub(super) type Answer = Result<Box<RawValue>, (ErrorCode, String)>;

/// Answers a request about one text.
pub(super) fn about_text(
    documents: &mut Documents,
    libraries: &mut LibraryFiles,
    method: &str,
    params: Value,
) -> Answer {
    let at = |params: Value| read::<TextDocumentPositionParams>(params);
    match method {
        "textDocument/definition" => {
            let TextDocumentPositionParams { text_document, position } = at(params)?;
            let document = open(documents, &text_document.uri)?;
            written(answers::definition(document, position, libraries))
        }
        "textDocument/references" => {
            let ReferenceParams { text_document_position: place, context, .. } = read(params)?;
            let document = open(documents, &place.text_document.uri)?;
            written(answers::references(document, place.position, context.include_declaration))
        }
        "textDocument/documentHighlight" => {
            let place = at(params)?;
            written(answers::highlights(open(documents, &place.text_document.uri)?, place.position))
        }
        "textDocument/prepareRename" => {
            let place = at(params)?;
            let found = answers::prepare_rename(open(documents, &place.text_document.uri)?, place.position);
            found.map_err(refused).and_then(written)
        }
        "textDocument/rename" => {
            let RenameParams { text_document_position: place, new_name, .. } = read(params)?;
            let document = open(documents, &place.text_document.uri)?;
            answers::rename(document, place.position, &new_name).map_err(refused).and_then(written)
        }
        "textDocument/hover" => {
            let place = at(params)?;
            written(answers::hover(open(documents, &place.text_document.uri)?, place.position))
        }
        "textDocument/documentSymbol" => {
            let params: DocumentSymbolParams = read(params)?;
            written(symbols::outline(open(documents, &params.text_document.uri)?))
        }
        "textDocument/completion" => {
            let CompletionParams { text_document_position: place, .. } = read(params)?;
            written(symbols::completions(open(documents, &place.text_document.uri)?, place.position))
        }
        "textDocument/formatting" => {
            let params: DocumentFormattingParams = read(params)?;
            written(answers::formatting(open(documents, &params.text_document.uri)?))
        }
        "textDocument/codeLens" => {
            let params: CodeLensParams = read(params)?;
            written(lenses::lenses(open(documents, &params.text_document.uri)?))
        }
        "textDocument/inlayHint" => {
            let params: InlayHintParams = read(params)?;
            written(lenses::hints(open(documents, &params.text_document.uri)?, params.range))
        }
        _ => Err((ErrorCode::MethodNotFound, format!("unknown request `{}`", short(method)))),
    }
}

/// Returns an open file.
pub(super) fn open<'d>(documents: &'d mut Documents, uri: &Uri) -> Result<&'d mut Document, (ErrorCode, String)> {
    documents.get_mut(uri.as_str()).ok_or_else(|| invalid(format!("`{}` is not open", short(uri.as_str()))))
}

pub(super) fn read<T: DeserializeOwned>(params: Value) -> Result<T, (ErrorCode, String)> {
    serde_json::from_value(params).map_err(|error| invalid(error.to_string()))
}

pub(super) fn written(result: impl serde::Serialize) -> Answer {
    to_raw_value(&result).map_err(|error| (ErrorCode::InternalError, error.to_string()))
}

pub(super) fn invalid(why: String) -> (ErrorCode, String) {
    (ErrorCode::InvalidParams, why)
}

pub(super) fn refused(why: String) -> (ErrorCode, String) {
    (ErrorCode::RequestFailed, why)
}

// The begin of a text of the client, for a message.
pub(super) fn short(text: &str) -> String {
    text.chars().take(100).collect()
}

pub(super) fn capabilities() -> ServerCapabilities {
    let no_progress = WorkDoneProgressOptions::default();
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::INCREMENTAL)),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: no_progress,
        })),
        hover_provider: Some(true.into()),
        document_symbol_provider: Some(OneOf::Left(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(["@", ".", ":", " "].map(str::to_owned).to_vec()),
            ..CompletionOptions::default()
        }),
        document_formatting_provider: Some(OneOf::Left(true)),
        code_lens_provider: Some(lsp_types::CodeLensOptions { resolve_provider: Some(false) }),
        inlay_hint_provider: Some(OneOf::Left(true)),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: JobKind::ALL.map(JobKind::command).to_vec(),
            work_done_progress_options: WorkDoneProgressOptions { work_done_progress: Some(true) },
        }),
        ..ServerCapabilities::default()
    }
}
