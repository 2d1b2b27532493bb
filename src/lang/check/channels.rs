//! Lowers channels: their declarations, sends, receives and selects.

use super::items::{MAX_COUNT, index};
use super::names::NameMeaning;
use super::sites::place_text;
use super::types::article;
use super::{Checker, MAX_LOCKS};
use crate::event::{ChannelRead, SiteKind};
use crate::lang::Diagnostic;
use crate::lang::ast::{self, At, SelectCase, SelectKind};
use crate::lang::program::{CLOSED, Capacity, ChannelDef, Expr, ExprKind, SelectArm, SelectStmt, Stmt, Type};
use std::sync::Arc;

impl Checker {
    /// Declares the channels of a file. Their types may name classes.
    pub(super) fn channels(&mut self, file: &ast::File) {
        for item in &file.items {
            if let ast::ItemKind::Channel { name, count, of } = &item.kind
                && self.channel(name, count.as_ref(), of).is_none()
            {
                self.define(name, NameMeaning::Broken);
            }
        }
    }

    fn channel(&mut self, name: &ast::Name, count: Option<&ast::Expr>, written: &ast::Type) -> Option<()> {
        if self.out.channels.is_empty() {
            self.exception(CLOSED);
        }
        let capacity = self.capacity(written);
        let base = ast::Type { base: written.base.clone(), lengths: Vec::new(), at: written.at };
        let of = self.ty(&base)?;
        let of = self.carried(of, written.at)?;
        let capacity = capacity?;
        let first = self.out.channels.len();
        let len = match count {
            None => 1,
            Some(count) => self.constant_between(count, "the number of channels", 0, MAX_LOCKS)?,
        };
        if first as u64 + len as u64 > MAX_LOCKS {
            self.error(name.at, format!("more than {MAX_LOCKS} channels"), "too many");
            return None;
        }
        let zero = of.default_word().unwrap_or(0);
        for i in 0..len {
            let name = if count.is_some() { format!("{}[{i}]", name.text) } else { name.text.clone() };
            self.out.channels.push(ChannelDef { name, of: of.clone(), capacity, zero });
        }
        let (ty, first) = (Type::Channel(Arc::new(of)), index(first));
        let len = u32::try_from(len).expect("it was bounded");
        let family = NameMeaning::Family { ty: ty.clone(), first, len, from: 0 };
        self.define(name, if count.is_some() { family } else { NameMeaning::Word(ty, first) });
        Some(())
    }

    // The size of the buffer is written like the length of an array.
    fn capacity(&mut self, written: &ast::Type) -> Option<Capacity> {
        match written.lengths.as_slice() {
            [] => Some(Capacity::Unbounded),
            [size] if matches!(&size.kind, ast::ExprKind::Name(name) if name == "conflated") => {
                Some(Capacity::Conflated)
            }
            [size] => {
                let most = self.constant_between(size, "the size of a channel", 0, MAX_COUNT)?;
                Some(Capacity::Bounded(u32::try_from(most).expect("it was bounded")))
            }
            _ => {
                let help =
                    "write one size, as in `channel c: int[2]`; write several channels as `channel c[4]: int[2]`";
                self.error_help(written.at, "a channel of arrays", "it has more than one size", help);
                None
            }
        }
    }

    /// Returns the type of the values of a channel, if a channel can carry them.
    pub(super) fn carried(&mut self, of: Type, at: At) -> Option<Type> {
        if of.is_word() && of.default_word().is_some() {
            return Some(of);
        }
        let message = format!("a channel of {}", article(&self.name_of(&of)));
        let help = "a channel carries single words that have a 0 or a null: numbers, truth values, references";
        self.error_help(at, message, "it cannot be sent", help);
        None
    }

    /// Lowers an operand that must be a channel. Returns it with the type of its values.
    fn channel_of(&mut self, e: &ast::Expr, what: &str) -> Option<(Expr, Type)> {
        let value = self.value(e)?;
        if let Type::Channel(of) = &value.ty {
            let of = (**of).clone();
            return Some((value, of));
        }
        let ty = self.name_of(&value.ty);
        let help = "declare it as `channel c: int[2]`";
        self.error_help(e.at, format!("{what} needs a channel"), format!("this is {}", article(&ty)), help);
        None
    }

    /// Lowers `recv c`.
    pub(super) fn receive(&mut self, channel: &ast::Expr, at: At) -> Option<Expr> {
        let (value, of) = self.channel_of(channel, "`recv`")?;
        let site = self.site(SiteKind::Receive, place_text(channel), at);
        Some(Expr::new(ExprKind::Receive { channel: Box::new(value), site }, of))
    }

    /// Lowers the operands of a send.
    pub(super) fn sent(&mut self, channel: &ast::Expr, value: &ast::Expr) -> Option<(Expr, Expr)> {
        let of = self.channel_of(channel, "`send`");
        let Some((channel, of)) = of else {
            self.value(value)?;
            return None;
        };
        Some((channel, self.expr_of(value, &of, "the value of a `send`")?))
    }

    /// Lowers the operand of `close`.
    pub(super) fn closed(&mut self, channel: &ast::Expr) -> Option<Expr> {
        self.channel_of(channel, "`close`").map(|(channel, _)| channel)
    }

    /// Lowers `c.closed` and `c.len`.
    pub(super) fn channel_field(&mut self, channel: Expr, place: &ast::Expr, name: &ast::Name, at: At) -> Option<Expr> {
        let (what, ty) = match name.text.as_str() {
            "closed" => (ChannelRead::Closed, Type::Bool),
            "len" => (ChannelRead::Len, Type::Int),
            other => {
                let help = super::did_you_mean(other, ["closed", "len"])
                    .unwrap_or_else(|| "a channel has `closed` and `len`".into());
                self.error_help(name.at, format!("a channel has no field `{other}`"), "unknown", help);
                return None;
            }
        };
        self.only_in_body(at, "the state of a channel", false)?;
        let site = self.site(SiteKind::ChannelRead, place_text(place), at);
        Some(Expr::new(ExprKind::ChannelRead { channel: Box::new(channel), what, site }, ty))
    }

    /// Lowers `for v in c`. The caller has lowered the channel.
    pub(super) fn for_channel(
        &mut self,
        name: &ast::Name,
        (channel, of): (Expr, Type),
        written: &ast::Expr,
        body: &ast::Block,
    ) -> Stmt {
        let site = self.site(SiteKind::Receive, place_text(written), written.at);
        let (local, body) = self.in_block(|c| {
            let local = c.declare_local(name, of, true);
            (local, c.loop_body(body))
        });
        Stmt::ForChannel { local, channel, body, site }
    }

    /// Lowers a select.
    pub(super) fn select(&mut self, cases: &[SelectCase], out: &mut Vec<Stmt>) -> Option<()> {
        let (mut after, mut otherwise): (Option<At>, Option<At>) = (None, None);
        let mut is_valid = true;
        for case in cases {
            let (seen, word) = match case.kind {
                SelectKind::After(_) => (&mut after, "after"),
                SelectKind::Else => (&mut otherwise, "else"),
                _ => continue,
            };
            if let Some(first) = seen.replace(case.at) {
                let message = format!("a second `{word}` in one `select`");
                self.problems.add(Diagnostic::new(case.at.0, message, "one is enough").note(first.0, "the first one"));
                is_valid = false;
            }
        }
        let at = self.scope.stmt_at;
        if let (Some(after), Some(_)) = (after, otherwise) {
            let help = "leave out one of the two: `else` goes at once if no case can go";
            self.error_help(after, "`after` beside `else`", "a select with `else` never waits", help);
            is_valid = false;
        }
        if cases.is_empty() {
            let help = "a case is `recv c as v { }`, `send c v { }`, `after 5 { }` or `else { }`";
            self.error_help(at, "a `select` without cases", "it waits forever", help);
            is_valid = false;
        }
        // The operands are evaluated before the operation, and the blocks run after it: sites have that order.
        let operands: Vec<_> = cases.iter().map(|case| self.select_operands(&case.kind)).collect();
        let text = cases.iter().filter_map(|case| match &case.kind {
            SelectKind::Receive { channel, .. } | SelectKind::Send { channel, .. } => Some(place_text(channel)),
            _ => None,
        });
        let site = self.site(SiteKind::Select, text.collect::<Vec<_>>().join(", "), at);
        let mut select = SelectStmt { cases: Vec::new(), after: None, otherwise: None };
        for (case, operands) in cases.iter().zip(operands) {
            is_valid &= self.select_arm(case, operands, &mut select).is_some();
        }
        is_valid.then(|| out.push(Stmt::Select(Box::new(select), site)))
    }

    // Lowers the operands of a case: its channel and the value that it sends, or its delay.
    fn select_operands(&mut self, kind: &SelectKind) -> Option<(Option<Expr>, Option<Expr>)> {
        Some(match kind {
            SelectKind::Receive { channel, .. } => (Some(self.channel_of(channel, "`recv`")?.0), None),
            SelectKind::Send { channel, value } => {
                let (channel, value) = self.sent(channel, value)?;
                (Some(channel), Some(value))
            }
            SelectKind::After(delay) => (None, Some(self.expr_of(delay, &Type::Int, "a delay")?)),
            SelectKind::Else => (None, None),
        })
    }

    fn select_arm(
        &mut self,
        case: &SelectCase,
        operands: Option<(Option<Expr>, Option<Expr>)>,
        select: &mut SelectStmt,
    ) -> Option<()> {
        let of = operands.as_ref().and_then(|(channel, _)| match &channel.as_ref()?.ty {
            Type::Channel(of) => Some((**of).clone()),
            _ => None,
        });
        let (value, received, body) = self.in_block(|c| {
            let (mut first, mut second) = (None, None);
            if let SelectKind::Receive { value, received, .. } = &case.kind {
                first = value.as_ref().map(|name| {
                    let local = c.declare_local(name, of.clone().unwrap_or(Type::Int), false);
                    if of.is_none() {
                        c.break_local(name);
                    }
                    local
                });
                second = received.as_ref().map(|name| c.declare_local(name, Type::Bool, false));
            }
            (first, second, c.block(&case.body))
        });
        match (&case.kind, operands?) {
            (SelectKind::After(_), (_, Some(delay))) => select.after = Some((delay, body)),
            (SelectKind::Else, _) => select.otherwise = Some(body),
            (_, (Some(channel), sends)) => {
                select.cases.push(SelectArm { channel, sends, value, received, body });
            }
            _ => {}
        }
        Some(())
    }
}
