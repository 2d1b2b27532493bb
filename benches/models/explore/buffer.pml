/* The same as buffer.race: a d_step is a step. A local variable that is not needed any more is 0. */

#ifndef N
#define N 1
#endif
#ifndef SLOTS
#define SLOTS 2
#endif

byte slot[SLOTS];
byte head, tail;
byte free = SLOTS;
byte filled;
bit ends;

active [N] proctype producer() {
    byte at;
    do
    :: d_step { free > 0 -> free-- };
       d_step { !ends -> ends = 1 };
       at = tail;
       slot[at] = _pid + 1;
       d_step { tail = (at + 1) % SLOTS; at = 0 };
       ends = 0;
       filled++
    od
}

active [N] proctype consumer() {
    byte at;
    do
    :: d_step { filled > 0 -> filled-- };
       d_step { !ends -> ends = 1 };
       at = head;
       assert(slot[at] > 0);
       slot[at] = 0;
       d_step { head = (at + 1) % SLOTS; at = 0 };
       ends = 0;
       free++
    od
}
