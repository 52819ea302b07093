// Moving data between vector registers and the three memories: global, scratch and LDS.
//
// Every family of memory instructions works in the same two steps: turn operands into one address
// per lane (all sources are read here, so a destination may overlap an address), then move one
// element per active lane. These headers are the second step. An element policy (element.h:
// Dwords<N>, Small<…>) says how an element looks in memory and in registers; a space (global,
// scratch, LDS) says where bytes live. Between the two steps the access is announced to counters and
// watchers (note_access.h).
//
// Speed: lanes that read consecutive elements of one mapped range are one row copy; other lanes
// whose lowest and highest byte share a mapped range need one range check per instruction;
// everything else goes lane by lane through Wave::translate(), which also reports faults. An access
// that crosses from one mapped range into the next is split by byte.
//
// Faults: the lowest faulting lane is reported, with the first byte it could not reach. Lanes below
// it have been carried out, as on hardware, where a memory fault is not precise either.
#pragma once

#include "emu/exec/element.h"
#include "emu/exec/global_access.h"
#include "emu/exec/lane_pattern.h"
#include "emu/exec/lds_access.h"
#include "emu/exec/note_access.h"
#include "emu/exec/scratch_access.h"
