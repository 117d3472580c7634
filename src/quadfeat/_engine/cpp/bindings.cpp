// The Python module `quadfeat._engine._core`.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <new>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "fourier_plan.hpp"
#include "isa.hpp"
#include "kronecker_plan.hpp"
#include "mercer_plan.hpp"
#include "pairs_plan.hpp"
#include "threads.hpp"
#include "work.hpp"

namespace quadfeat {
namespace {

template <class T>
void sincos_half_turns(const std::string& isa, const Vector<T>& t,
                       const nb::ndarray<T, nb::ndim<1>, nb::c_contig>& cosine,
                       const nb::ndarray<T, nb::ndim<1>, nb::c_contig>& sine) {
    require(cosine.size() == t.size() && sine.size() == t.size(),
            "cosine and sine must be as long as t");
    routines_of<T>(find_isa(isa)).sincos(t.data(), cosine.data(), sine.data(), index(t.size()));
}

template <class T>
void write(const std::string& isa, const Target<T>& out, T value, index threads) {
    const index rows = index(out.shape(0)), columns = index(out.shape(1));
    const Output<T> to = output_of(out, rows, columns, -1);
    const Routines<T>& routines = routines_of<T>(find_isa(isa));
    nb::gil_scoped_release release;
    share_rows(rows, columns, kRows<T>, threads, 0, [&](index begin, index end, void*) {
        for (index r = begin; r < end; ++r)
            routines.write(to.data + r * to.row_stride, columns, value);
        return Status::ok;
    });
}

template <class T>
void exp_of(const std::string& isa, const Vector<T>& x,
            const nb::ndarray<T, nb::ndim<1>, nb::c_contig>& to) {
    require(to.size() == x.size(), "to must be as long as x");
    routines_of<T>(find_isa(isa)).exp(x.data(), to.data(), index(x.size()));
}

template <class Plan, class Fields>
void bind_plan(nb::module_& m, const char* name) {
    nb::class_<Plan>(m, name)
        .def(
            "__init__",
            [](Plan* self, const std::string& isa, const nb::kwargs& fields) {
                new (self) Plan(isa, Fields(fields));
            },
            nb::arg("isa"), nb::arg("fields"))
        .def_prop_ro("columns", &Plan::columns)
        .def("run", &Plan::run, nb::arg("X").noconvert(), nb::arg("out").noconvert(),
             nb::arg("threads"), nb::arg("way") = -1);
}

template <class T>
void bind_functions(nb::module_& m) {
    m.def("exp", &exp_of<T>, nb::arg("isa"), nb::arg("x").noconvert(), nb::arg("to").noconvert());
    m.def("sincos_halfturns", &sincos_half_turns<T>, nb::arg("isa"), nb::arg("t").noconvert(),
          nb::arg("cosine").noconvert(), nb::arg("sine").noconvert());
    m.def("write", &write<T>, nb::arg("isa"), nb::arg("out").noconvert(), nb::arg("value"),
          nb::arg("threads"));
}

}  // namespace
}  // namespace quadfeat

NB_MODULE(_core, m) {
    using namespace quadfeat;
    m.doc() = "The compiled engine; quadfeat._engine is its only caller.";
    m.def("isas", [] {
        std::vector<std::string> names;
        for (const Isa* isa : supported()) names.push_back(isa->name);
        return names;
    });
#if defined(__clang__)
    m.attr("compiler") = "clang " __clang_version__;
#else
    m.attr("compiler") = "g++ " __VERSION__;
#endif
    bind_plan<FourierPlan<float>, FourierFields>(m, "Fourier32");
    bind_plan<FourierPlan<double>, FourierFields>(m, "Fourier64");
    bind_plan<KroneckerPlan<float>, KroneckerFields>(m, "Kronecker32");
    bind_plan<KroneckerPlan<double>, KroneckerFields>(m, "Kronecker64");
    bind_plan<MercerPlan<float>, MercerFields>(m, "Mercer32");
    bind_plan<MercerPlan<double>, MercerFields>(m, "Mercer64");
    bind_plan<PairPlan<double>, PairFields>(m, "Pairs64");
    bind_functions<float>(m);
    bind_functions<double>(m);
}
