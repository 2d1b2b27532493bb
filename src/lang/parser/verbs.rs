//! Statements that begin with a verb: a word that is one only before an operand.

use super::super::ast::{ComponentVerb, StmtKind, Verb};
use super::super::token::Kind;
use super::{Parse, Parser};

impl Parser<'_> {
    /// The statement of a verb, or `None` if the word is a name here.
    pub(super) fn verb_stmt(&mut self) -> Parse<Option<StmtKind>> {
        let word = self.word();
        if let Some(verb) = Verb::from_word(word) {
            if !self.operand_at(1) {
                return Ok(None);
            }
            self.bump();
            return Ok(Some(StmtKind::Verb { verb, operand: self.expr()? }));
        }
        if let Some(verb) = ComponentVerb::from_word(word) {
            if !self.name_at(1) {
                return Ok(None);
            }
            self.bump();
            let name = self.name("the name of a component")?;
            let args = self.optional_args()?;
            return Ok(Some(StmtKind::Component { verb, name, args }));
        }
        let alone = matches!(self.kind_at(1), Kind::Newline | Kind::Semi | Kind::RightBrace | Kind::End);
        let kind = match word {
            "skip" if alone => self.single(StmtKind::Skip),
            "yield" if alone => self.single(StmtKind::Yield),
            "attach" if self.word_at(1) == "queue" => {
                self.bump();
                self.single(StmtKind::AttachQueue)
            }
            "quit" if self.operand_at(1) => {
                self.bump();
                StmtKind::Quit { target: self.place()?, safely: self.eat_word("safely") }
            }
            "cancel" if self.name_at(1) => {
                self.bump();
                let task = self.name("the name of a task, or `all`")?;
                if self.word() != "on" {
                    let help = format!("say of which looper or handler: `cancel {} on main`", task.text);
                    let diagnostic = self.expected_diagnostic("`on`").help(help);
                    return Err(self.report(diagnostic));
                }
                self.bump();
                let task = if task.text == "all" { None } else { Some(task) };
                StmtKind::Cancel { task, target: self.place()? }
            }
            "enable" if self.name_at(1) => {
                self.bump();
                let event = self.name("the name of an event")?;
                let args = self.optional_args()?;
                let instance = if self.eat_word("as") { Some(self.instance(&mut 0)?) } else { None };
                StmtKind::Enable { event, args, instance }
            }
            "disable" if self.name_at(1) => {
                self.bump();
                StmtKind::Disable { event: self.name("the name of an event")? }
            }
            "register" if self.name_at(1) => {
                self.bump();
                let task = self.name("the name of a task")?;
                self.expect_word("to")?;
                StmtKind::Register { task, listener: self.name("the name of a listener")? }
            }
            "perform" if self.name_at(1) => {
                self.bump();
                let listener = self.name("the name of a listener")?;
                StmtKind::Perform { listener, args: self.args(&mut 0)? }
            }
            _ => return Ok(None),
        };
        Ok(Some(kind))
    }

    fn optional_args(&mut self) -> Parse<Vec<super::Expr>> {
        if self.peek() == Kind::LeftParen { self.args(&mut 0) } else { Ok(Vec::new()) }
    }
}
