//! A transitive relation over nodes that grows, and can be taken back.

/// A cycle: the relation cannot be an order.
pub(super) struct Cycle;

/// A transitive relation.
pub(super) struct Rows {
    // Row a has bit b if a is before b.
    bits: Vec<u64>,
    words: usize,
    len: usize,
    // Words that have changed, with what they were.
    trail: Vec<(usize, u64)>,
}

impl Rows {
    /// Returns the relation with these rows, one for each node, which must be transitive.
    pub(super) fn new(rows: &[Vec<u64>]) -> Self {
        Self { bits: rows.concat(), words: rows.len().div_ceil(64), len: rows.len(), trail: Vec::new() }
    }

    /// Whether a node is before another one.
    pub(super) fn has(&self, a: usize, b: usize) -> bool {
        self.bits[a * self.words + b / 64] >> (b % 64) & 1 == 1
    }

    /// Whether two nodes are ordered either way.
    pub(super) fn has_any(&self, a: usize, b: usize) -> bool {
        self.has(a, b) || self.has(b, a)
    }

    /// Puts a node before another one, with all that follows. Returns whether that is new.
    pub(super) fn add(&mut self, a: usize, b: usize) -> Result<bool, Cycle> {
        if a == b || self.has(b, a) {
            return Err(Cycle);
        }
        if self.has(a, b) {
            return Ok(false);
        }
        for x in 0..self.len {
            // What is before b already is before all that follows b.
            if x != a && !self.has(x, a) || self.has(x, b) {
                continue;
            }
            for k in 0..self.words {
                let mut news = self.bits[b * self.words + k];
                if k == b / 64 {
                    news |= 1 << (b % 64);
                }
                let at = x * self.words + k;
                if self.bits[at] | news != self.bits[at] {
                    self.trail.push((at, self.bits[at]));
                    self.bits[at] |= news;
                }
            }
        }
        Ok(true)
    }

    /// Returns the state to which [`undo`](Self::undo) goes back.
    pub(super) fn mark(&self) -> usize {
        self.trail.len()
    }

    /// Takes back all that was added since a mark.
    pub(super) fn undo(&mut self, mark: usize) {
        for (at, old) in self.trail.drain(mark..).rev() {
            self.bits[at] = old;
        }
    }
}
