/* The same as readers.race: a d_step is a step. A local variable that is not needed any more is 0. */

#ifndef N
#define N 1
#endif
#define WRITERS 2

byte readers, announced;
bit writing;
byte a, b;

active [WRITERS] proctype writer() {
    do
    :: announced++;
       d_step { !writing && readers == 0 -> writing = 1; announced-- };
       a = _pid;
       b = _pid;
       writing = 0
    od
}

active [N] proctype reader() {
    byte seen;
    do
    :: d_step { !writing && announced == 0 -> readers++ };
       seen = a;
       d_step { assert(seen == b); seen = 0 };
       readers--
    od
}
