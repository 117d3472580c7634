// A PairPlan of plans.py, packed for one instruction set.
#pragma once

#include <string>
#include <vector>

#include "arguments.hpp"
#include "isa.hpp"
#include "packing.hpp"
#include "run.hpp"
#include "work.hpp"

namespace quadfeat {

// The fields of a PairPlan, as they come from Python.
struct PairFields {
    index n_features, form;
    Vector<double> scale, points;

    explicit PairFields(const nb::kwargs& given)
        : n_features(field<index>(given, "n_features")),
          form(field<index>(given, "form")),
          scale(field<Vector<double>>(given, "scale")),
          points(field<Vector<double>>(given, "points")) {}
};

template <class T>
class PairPlan {
   public:
    PairPlan(const std::string& isa, const PairFields& given)
        : isa_(find_isa(isa)), features_(given.n_features) {
        require(features_ > 0, "n_features must be positive");
        require(index(given.scale.size()) == features_, "scale must have one value per column");
        require(index(given.points.size()) % features_ == 0, "points must be whole rows");
        require(0 <= given.form && given.form < kPairForms, "form must be in [0, ", kPairForms, ")");
        for (const double s : copy(given.scale)) scale_.push_back(T(s));
        const index count = index(given.points.size()) / features_;
        const index width = kPairVectors * isa_.vector_bytes / index(sizeof(T));
        panels_.assign(std::size_t((count + width - 1) / width * width * features_), T(0));
        for (index p = 0; p < count; ++p)
            for (index i = 0; i < features_; ++i)
                panels_[std::size_t((p / width * features_ + i) * width + p % width)] =
                    T(given.points(p * features_ + i)) * scale_[std::size_t(i)];
        check_finite("points in length scales", panels_);
        work_ = {features_, count, PairForm(given.form), scale_.data(), panels_.data()};
    }
    PairPlan(const PairPlan&) = delete;

    index columns() const { return work_.points; }

    void run(const Matrix<T>& X, const Target<T>& out, index threads, int way) const {
        const Input<T> in = input_of(X, features_);
        const Output<T> to = output_of(out, in.rows, work_.points, way);
        const Routines<T>& routines = routines_of<T>(isa_);
        const Status status = run_routine(work_, in, to, kRows<T>, threads, routines.pairs_scratch,
                                          routines.pairs);
        require(status == Status::ok, "X is not finite");
    }

   private:
    const Isa& isa_;
    index features_;
    std::vector<T> scale_;
    Aligned<T> panels_;
    PairWork<T> work_{};
};

}  // namespace quadfeat
