/* Durations: sums and the maximum are exact, quantiles nearly so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "capture/durations.h"

static void quantiles_are_near_and_the_maximum_exact(void **state)
{
    (void)state;
    static struct durations d;
    memset(&d, 0, sizeof(d));
    assert_int_equal(durations_quantile(&d, 0.5), 0);
    for (uint64_t i = 1; i <= 10000; i++)
        durations_add(&d, i * 1000);
    static const double shares[] = {0.01, 0.5, 0.95, 0.99, 0.999};
    for (size_t i = 0; i < 5; i++) {
        double want = shares[i] * 1e7, got = (double)durations_quantile(&d, shares[i]);
        assert_true(got > want * 0.98 && got < want * 1.02);
    }
    assert_int_equal(durations_quantile(&d, 1), 10000000);
    assert_int_equal(d.max_ns, 10000000);
    assert_int_equal(durations_between(&d, 0, UINT64_MAX), 10000);
    durations_add(&d, UINT64_MAX / 4); /* longer than the last bucket */
    assert_true(durations_quantile(&d, 1) > 10000000);
}

static void a_value_can_become_a_larger_one(void **state)
{
    (void)state;
    static struct durations d;
    memset(&d, 0, sizeof(d));
    for (uint64_t i = 1; i <= 10000; i++)
        durations_add(&d, i * 1000);
    durations_change(&d, 9000000, 20000000);
    assert_int_equal(d.count, 10000);
    assert_int_equal(d.sum_ns, 10000ull * 10001 / 2 * 1000 + 11000000);
    assert_int_equal(durations_quantile(&d, 1), 20000000);
    assert_int_equal(durations_between(&d, 0, 15000000), 9999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_near_and_the_maximum_exact),
        cmocka_unit_test(a_value_can_become_a_larger_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
