// The function that similar.wit exports. The bindings are those of `wit-bindgen c`.
#include "similar.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace {

// A bound on the work: the product of two lengths for each candidate.
constexpr size_t MAX_BYTES = 256;

std::string lower(std::string_view text) {
    std::string result(text);
    for (char &c : result) {
        if (c >= 'A' && c <= 'Z') c += 'a' - 'A';
    }
    return result;
}

std::string_view view(const similar_string_t &text) {
    return {reinterpret_cast<const char *>(text.ptr), text.len};
}

// The distance of Levenshtein, with one row of the table at a time.
uint32_t distance(std::string_view one, std::string_view other) {
    std::vector<uint32_t> row(other.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (size_t i = 0; i < one.size(); i++) {
        uint32_t diagonal = row[0]++;
        for (size_t j = 0; j < other.size(); j++) {
            uint32_t replaced = diagonal + (one[i] != other[j]);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
        }
    }
    return row.back();
}

}  // namespace

extern "C" bool exports_similar_rank(similar_string_t *word, similar_list_string_t *candidates,
                                     uint32_t most, similar_list_ranked_t *ret, similar_string_t *err) {
    std::string wanted = lower(view(*word));
    std::vector<std::pair<uint32_t, std::string_view>> ranked;
    for (size_t i = 0; i < candidates->len; i++) {
        std::string_view name = view(candidates->ptr[i]);
        if (wanted.size() > MAX_BYTES || name.size() > MAX_BYTES) {
            similar_string_dup(err, "a word has more than 256 bytes; give shorter ones");
            return false;
        }
        ranked.emplace_back(distance(wanted, lower(name)), name);
    }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const auto &one, const auto &other) { return one.first < other.first; });
    ranked.resize(std::min<size_t>(ranked.size(), most));
    // The host frees what the function returns.
    auto *list = static_cast<similar_ranked_t *>(std::malloc(ranked.size() * sizeof(similar_ranked_t) + 1));
    for (size_t i = 0; i < ranked.size(); i++) {
        similar_string_dup_n(&list[i].name, ranked[i].second.data(), ranked[i].second.size());
        list[i].distance = ranked[i].first;
    }
    *ret = {list, ranked.size()};
    return true;
}
