package keystile

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// Client is the client of one Keystile service. Make one and keep it. It is safe for concurrent use.
type Client struct {
	transport     *transport
	onUnavailable UnavailablePolicy
	onVerdict     func(ctx context.Context, event VerdictEvent)
}

// New makes a client. It does not connect. The error is an *Error with the code CONFIGURATION.
func New(options Options) (*Client, error) {
	options = options.withDefaults()
	urls, failure := parseURLs(options.URL)
	if failure != nil {
		return nil, failure
	}
	if !isHeaderText(options.RootKey) {
		return nil, configurationError("The root key contains a character that no root key has, perhaps a line break at its end. " +
			"Correct Options.RootKey or KEYSTILE_ROOT_KEY.")
	}
	warnOfPlainHTTP(urls, options.RootKey)
	return &Client{
		transport:     newTransport(urls, options),
		onUnavailable: options.OnUnavailable,
		onVerdict:     options.OnVerdict,
	}, nil
}

// Call sends a request to any path of the service, such as "/v1/keys.restoreKey", and reads its answer into answer, a
// pointer or nil. It is tried again only when it was certainly not carried out.
func (c *Client) Call(ctx context.Context, path string, body, answer any) error {
	// A path that continues the host would carry the root key to another one.
	if !strings.HasPrefix(path, "/") {
		return configurationError("The path of a call must begin with a slash, for example /v1/keys.restoreKey.")
	}
	return c.callWith(ctx, call{path: path, body: body}, answer)
}

// CloseIdleConnections ends the connections that no call uses now. The client can still be used.
func (c *Client) CloseIdleConnections() { c.transport.http.CloseIdleConnections() }

// complete is an answer that knows whether it has what its caller needs.
type complete interface{ isComplete() bool }

func (c *Client) callWith(ctx context.Context, sent call, into any) error {
	got, failure := c.transport.send(ctx, sent)
	if failure != nil {
		return failure
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(got.body, into); err != nil {
		return notUnderstood(sent.path)
	}
	if checked, isChecked := into.(complete); isChecked && !checked.isComplete() {
		return notUnderstood(sent.path)
	}
	return nil
}

// httpClient is a copy of the given client that follows no redirect: one would carry keys to another host.
func httpClient(given *http.Client) *http.Client {
	var client http.Client
	if given != nil {
		client = *given
	} else {
		client.Transport = ownConnections()
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

func ownConnections() http.RoundTripper {
	standard, isStandard := http.DefaultTransport.(*http.Transport)
	if !isStandard {
		return http.DefaultTransport
	}
	own := standard.Clone()
	// The standard keeps two connections for each host, and would open a new one for most calls of a busy server.
	own.MaxIdleConnsPerHost = 64
	own.MaxIdleConns = 0
	// The service closes an idle connection after 8 s. A request sent at that moment would be lost.
	own.IdleConnTimeout = 5 * time.Second
	return own
}

func isHeaderText(text string) bool {
	for index := range len(text) {
		if text[index] < 0x21 || text[index] > 0x7e {
			return false
		}
	}
	return true
}
