// name: clock_adjtime
// path: /usr/local/lib/drill/set_no_clock.so
// plays: the kernel's calls that set its clock, for systemd-timesyncd, which stops when they are denied
// refuses: nothing; a call that only reads the clock's state also returns zeros
// cannot: prove that systemd-timesyncd sets a clock: the nodes share the machine's clock and may not set it
// Source: document https://man7.org/linux/man-pages/man2/clock_adjtime.2.html (2026-11)

struct timex;
struct timespec;

int clock_adjtime(int clock, struct timex *state) { return 0; }

int clock_settime(int clock, const struct timespec *time) { return 0; }
