/*
 * `assert` in place of the C library's: a call ends as by at_panic, whose message the host gives to
 * the model. As in the standard, NDEBUG decides at each inclusion.
 */
#ifndef AT_ASSERT_H
#define AT_ASSERT_H

_Noreturn void at_assert_failed(const char *expression, const char *file, int line, const char *function);

#define static_assert _Static_assert

#endif

#undef assert
#ifdef NDEBUG
#define assert(expression) ((void)0)
#else
#define assert(expression) ((expression) ? (void)0 : at_assert_failed(#expression, __FILE__, __LINE__, __func__))
#endif
