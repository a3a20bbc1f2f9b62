package keystile

import (
	"reflect"
	"testing"
	"time"
)

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
