package keystile

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

const (
	// firstPause is the wait before the same url is tried again. It doubles with each round; a random half is left out.
	firstPause = 50 * time.Millisecond
	// avoidFor is how long a url that failed is not the first to be tried.
	avoidFor = 10 * time.Second
)

// transport sends calls, and repeats those that failed where that is safe.
type transport struct {
	urls         []string
	rootKey      string
	timeout      time.Duration
	totalTimeout time.Duration
	retries      int
	http         *http.Client
	// try sends a request once.
	try   func(ctx context.Context, a attempt) (answer, *Error)
	clock clock

	mutex sync.Mutex
	// avoidUntil has one time for each url. The mutex guards it.
	avoidUntil []time.Time
}

func newTransport(urls []string, options Options) *transport {
	t := &transport{
		urls: urls, rootKey: options.RootKey, timeout: options.Timeout, totalTimeout: options.TotalTimeout, retries: options.Retries,
		http: httpClient(options.HTTPClient), clock: systemClock{}, avoidUntil: make([]time.Time, len(urls)),
	}
	t.try = t.attempt
	return t
}

// clock is what the pauses between tries are measured with. Tests set one that they move.
type clock interface {
	now() time.Time
	// sleep ends early when the context ends.
	sleep(ctx context.Context, pause time.Duration)
}

// call is one request to the service.
type call struct {
	path string
	body any
	// isRepeatable: to repeat the call does no harm, also when its outcome is unknown.
	isRepeatable bool
	// secret is a text of the body that no message may contain.
	secret string
}

func (t *transport) send(ctx context.Context, c call) (answer, *Error) {
	body, err := json.Marshal(c.body)
	if err != nil {
		failure := configurationError("The body of the call to " + c.path + " cannot be written as JSON. Check its values.")
		failure.cause = err
		return answer{}, failure
	}
	started := t.clock.now()
	deadline := started.Add(t.totalTimeout)
	order := t.order(started)
	isCertainlyNotDone := true
	for tried := 0; ; tried++ {
		index := order[tried%len(order)]
		timeout := max(time.Millisecond, min(t.timeout, deadline.Sub(t.clock.now())))
		got, failure := t.try(ctx, attempt{url: t.urls[index], call: c, body: body, timeout: timeout})
		if failure == nil {
			return got, nil
		}
		isSafe := failure.IsCertainlyNotDone || c.isRepeatable
		// An earlier try may have been carried out, whatever became of this one.
		isCertainlyNotDone = isCertainlyNotDone && failure.IsCertainlyNotDone
		failure.IsCertainlyNotDone = isCertainlyNotDone
		// A context that has ended says nothing about the url.
		if !failure.isTrouble() || ctx.Err() != nil {
			return answer{}, failure
		}
		t.avoid(index, t.clock.now())
		if !isSafe || tried >= t.retries || !t.rest(ctx, t.pauseAfter(tried, failure), deadline) {
			return answer{}, failure
		}
	}
}

// order lists the indexes of the urls: first those that did not fail lately.
func (t *transport) order(now time.Time) []int {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	var fine, avoided []int
	for index, until := range t.avoidUntil {
		if until.After(now) {
			avoided = append(avoided, index)
		} else {
			fine = append(fine, index)
		}
	}
	return append(fine, avoided...)
}

func (t *transport) avoid(index int, now time.Time) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.avoidUntil[index] = now.Add(avoidFor)
}

// pauseAfter is 0 while there is a url that this call has not tried.
func (t *transport) pauseAfter(tried int, failure *Error) time.Duration {
	if (tried+1)%len(t.urls) != 0 {
		return 0
	}
	// After 16 rounds the pause is longer than any total time.
	pause := firstPause << min(tried/len(t.urls), 16)
	return max(pause-rand.N(pause/2+1), failure.RetryAfter)
}

// rest waits. It answers false at once when the pause would not end in time. When the caller cancels, it ends early: the
// next attempt then reports it.
func (t *transport) rest(ctx context.Context, pause time.Duration, deadline time.Time) bool {
	if given, isSet := ctx.Deadline(); isSet && given.Before(deadline) {
		deadline = given
	}
	if !t.clock.now().Add(pause).Before(deadline) {
		return false
	}
	if pause > 0 {
		t.clock.sleep(ctx, pause)
	}
	return true
}

// systemClock is the clock of the machine.
type systemClock struct{}

func (systemClock) now() time.Time { return time.Now() }

func (systemClock) sleep(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
