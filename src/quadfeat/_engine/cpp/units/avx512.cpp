#define QUADFEAT_ISA avx512
#define QUADFEAT_BYTES 64
#include "../routines.hpp"

namespace quadfeat {
extern const Isa isa_avx512 = {"avx512", 64, avx512::routines<float>(), avx512::routines<double>()};
}
