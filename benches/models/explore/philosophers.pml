/* The same as philosophers.race: a d_step is a step. */

#ifndef N
#define N 3
#endif

#define FIRST (_pid == N - 1 -> 0 : _pid)
#define SECOND (_pid == N - 1 -> _pid : _pid + 1)

bit stick[N];

active [N] proctype philosopher() {
    do
    :: d_step { !stick[FIRST] -> stick[FIRST] = 1 };
       d_step { !stick[SECOND] -> stick[SECOND] = 1 };
       stick[SECOND] = 0;
       stick[FIRST] = 0
    od
}
