/* The same as peterson.race: a statement or a d_step is a step. A local variable that is not needed any more is 0. */

#ifndef N
#define N 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#define ME (_pid + 1)
#define FIRST (_pid == 0 -> 1 : 0)
#define NEXT (k + 1 == _pid -> k + 2 : k + 1)

byte stage[N];
byte last[N];
byte inside, count;

active [N] proctype p() {
    byte s = 1, k;
again:
    stage[_pid] = s;
    d_step { last[s] = ME; k = FIRST };
look:
    if
    :: stage[k] >= s
    :: d_step { stage[k] < s && NEXT < N -> k = NEXT }; goto look
    :: d_step { stage[k] < s && NEXT >= N && s < N - 1 -> s++; k = 0 }; goto again
    :: d_step { stage[k] < s && NEXT >= N && s == N - 1 -> s = 0; k = 0 }; goto enter
    fi;
    if
    :: last[s] == ME -> goto look
    :: d_step { last[s] != ME && NEXT < N -> k = NEXT }; goto look
    :: d_step { last[s] != ME && NEXT >= N && s < N - 1 -> s++; k = 0 }; goto again
    :: d_step { last[s] != ME && NEXT >= N && s == N - 1 -> s = 0; k = 0 }
    fi;
enter:
    inside = ME;
    k = count;
    d_step { count = (k + 1) % ROUNDS; k = 0 };
    assert(inside == ME);
    inside = 0;
    d_step { stage[_pid] = 0; s = 1 };
    goto again
}
