#define QUADFEAT_ISA avx2
#define QUADFEAT_BYTES 32
#include "../routines.hpp"

namespace quadfeat {
extern const Isa isa_avx2 = {"avx2", 32, avx2::routines<float>(), avx2::routines<double>()};
}
