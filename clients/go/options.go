package keystile

import (
	"context"
	"net/http"
	"os"
	"time"
)

// Options configure a client. The zero value takes its address from the environment.
type Options struct {
	// URL is the address of the service. Several are separated by commas: the nearest first, the next when one fails.
	// Default: KEYSTILE_URL.
	URL string
	// RootKey is needed by everything but Verify. Default: KEYSTILE_ROOT_KEY.
	RootKey string
	// Timeout is for one try. Default: 1 s.
	Timeout time.Duration
	// TotalTimeout is for all tries of one call. Default: 2 s. The deadline of the context also counts.
	TotalTimeout time.Duration
	// Retries is how often a call is tried again, where that is safe. Default: 2. Negative: never.
	Retries int
	// OnUnavailable decides whether a request passes when Keystile cannot be asked. Default: Refuse.
	OnUnavailable UnavailablePolicy
	// OnVerdict is called with every verdict, for logs and metrics. The request waits for it.
	OnVerdict func(ctx context.Context, event VerdictEvent)
	// HTTPClient sends the requests, for example with certificates of your own. Its CheckRedirect is not used: redirects
	// are never followed. Default: a client with its own connections.
	HTTPClient *http.Client
}

// UnavailablePolicy decides about a request that got no verdict. It is asked only when the service or the way to it has
// failed. A request that the service refuses to read never passes.
type UnavailablePolicy func(ctx context.Context, cause *Error, asked VerifyOptions) bool

// Refuse lets no request pass while Keystile cannot be asked.
func Refuse(context.Context, *Error, VerifyOptions) bool { return false }

// Allow lets every request pass while Keystile cannot be asked.
func Allow(context.Context, *Error, VerifyOptions) bool { return true }

// VerdictEvent is what OnVerdict gets. It does not contain the key.
type VerdictEvent struct {
	Verdict  Verdict
	Asked    VerifyOptions
	Duration time.Duration
}

func (o Options) withDefaults() Options {
	if o.URL == "" {
		o.URL = os.Getenv("KEYSTILE_URL")
	}
	if o.RootKey == "" {
		o.RootKey = os.Getenv("KEYSTILE_ROOT_KEY")
	}
	if o.Timeout <= 0 {
		o.Timeout = time.Second
	}
	if o.TotalTimeout <= 0 {
		o.TotalTimeout = 2 * time.Second
	}
	if o.Retries == 0 {
		o.Retries = 2
	}
	if o.OnUnavailable == nil {
		o.OnUnavailable = Refuse
	}
	return o
}
