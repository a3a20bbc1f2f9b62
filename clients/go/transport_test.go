package keystile

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"
)

// attempts is a transport on a clock of its own. Each try takes a second and ends with the next failure, or with an answer
// when there is none. It writes down what happens.
type attempts struct {
	*transport
	at       time.Time
	failures []*Error
	steps    []string
}

func newAttempts(urls []string, change func(*Options), failures ...*Error) *attempts {
	options := Options{}.withDefaults()
	change(&options)
	a := &attempts{transport: newTransport(urls, options), at: time.UnixMilli(1_700_000_000_000), failures: failures}
	a.transport.clock = a
	a.transport.try = func(_ context.Context, tried attempt) (answer, *Error) {
		a.at = a.at.Add(tried.timeout)
		a.steps = append(a.steps, fmt.Sprintf("%s %v", tried.url, tried.timeout))
		if len(a.failures) == 0 {
			return answer{}, nil
		}
		failure := *a.failures[0]
		if len(a.failures) > 1 || failure.Code != ErrorTimeout {
			a.failures = a.failures[1:]
		}
		return answer{}, &failure
	}
	return a
}

func (a *attempts) now() time.Time { return a.at }

func (a *attempts) sleep(_ context.Context, pause time.Duration) {
	a.at = a.at.Add(pause)
	a.steps = append(a.steps, "pause")
}

// want sends a call, and compares what happened and the code of its error.
func (a *attempts) want(t *testing.T, code ErrorCode, steps ...string) {
	t.Helper()
	a.steps = nil
	_, failure := a.send(context.Background(), call{path: "/v1/x", isRepeatable: true})
	if got := codeOf(failure); got != code || !reflect.DeepEqual(a.steps, steps) {
		t.Fatalf("got %q after %q, want %q after %q", got, a.steps, code, steps)
	}
}

func codeOf(failure *Error) ErrorCode {
	if failure == nil {
		return ""
	}
	return failure.Code
}

func asGiven(*Options) {}

func unavailable(after time.Duration) *Error {
	return &Error{Code: ErrorUnavailable, Status: 503, RetryAfter: after, IsCertainlyNotDone: true}
}

func TestNextURLIsTriedAtOnceAndThenFirst(t *testing.T) {
	sender := newAttempts([]string{"near", "far"}, asGiven, unavailable(time.Second))
	sender.want(t, "", "near 1s", "far 1s")
	sender.want(t, "", "far 1s")
}

func TestRetryAfterIsWaitedFor(t *testing.T) {
	sender := newAttempts([]string{"near"}, func(o *Options) { o.TotalTimeout = 10 * time.Second }, unavailable(3*time.Second))
	started := sender.at
	sender.want(t, "", "near 1s", "pause", "near 1s")
	if took := sender.at.Sub(started); took != 5*time.Second {
		t.Fatalf("took %v", took)
	}
}

func TestRetryAfterBeyondTheTotalTimeIsAnErrorAtOnce(t *testing.T) {
	for _, after := range []time.Duration{time.Second, time.Hour, math.MaxInt64} {
		sender := newAttempts([]string{"near"}, asGiven, unavailable(after))
		sender.want(t, ErrorUnavailable, "near 1s")
	}
}

func TestTotalTimeBoundsAllTries(t *testing.T) {
	timeout := &Error{Code: ErrorTimeout}
	long := func(o *Options) { o.Timeout, o.TotalTimeout, o.Retries = time.Second, 2500*time.Millisecond, 1000 }
	sender := newAttempts([]string{"near", "far", "farther", "farthest"}, long, timeout)
	started := sender.at
	sender.want(t, ErrorTimeout, "near 1s", "far 1s", "farther 500ms")
	if took := sender.at.Sub(started); took != 2500*time.Millisecond {
		t.Fatalf("took %v", took)
	}
}

func TestURLThatFailedIsNotTheFirstForTenSeconds(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	sender := &transport{urls: []string{"a", "b", "c"}, avoidUntil: make([]time.Time, 3)}
	sender.avoid(0, now)
	for after, want := range map[time.Duration][]int{0: {1, 2, 0}, avoidFor - 1: {1, 2, 0}, avoidFor: {0, 1, 2}} {
		if got := sender.order(now.Add(after)); !reflect.DeepEqual(got, want) {
			t.Errorf("after %v: %v, want %v", after, got, want)
		}
	}
}

func TestPauseDoublesWithJitterOncePerRound(t *testing.T) {
	sender := &transport{urls: []string{"a", "b"}}
	for range 200 {
		for tried, most := range []time.Duration{0, 50, 0, 100, 0, 200} {
			got := sender.pauseAfter(tried, &Error{})
			if most *= time.Millisecond; got < most/2 || got > most {
				t.Fatalf("after try %d: %v, want %v to %v", tried, got, most/2, most)
			}
		}
	}
	if got := sender.pauseAfter(1, &Error{RetryAfter: time.Minute}); got != time.Minute {
		t.Fatalf("got %v", got)
	}
}
