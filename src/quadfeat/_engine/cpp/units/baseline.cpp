#define QUADFEAT_ISA baseline
#define QUADFEAT_BYTES 16
#include "../routines.hpp"

namespace quadfeat {
extern const Isa isa_baseline = {"baseline", 16, baseline::routines<float>(), baseline::routines<double>()};
}
