package keystile

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
)

// Route says what a request to a protected handler needs.
type Route struct {
	// APIID: the key must belong to this api.
	APIID string
	// Cost is the credits that a request takes: Int(0) takes none. Default: 1.
	Cost *int64
	// Permissions that the key must have.
	Permissions *PermissionQuery
	// Tags are counted in analytics.
	Tags []string
	// Ratelimits are limits to count besides those of the key.
	Ratelimits []RequestedLimit
	// Idempotent: see VerifyOptions.
	Idempotent bool
	// Key takes the key from a request. Default: KeyOf.
	Key func(*http.Request) string
	// ClientIP is the address of the sender, which a key with an allowlist is checked against. Default: the other end of
	// the connection. Behind a proxy, read the header that your proxy sets.
	ClientIP func(*http.Request) string
}

type verdictKey struct{}

// VerdictFrom is the verdict about the request that a protected handler serves. Outside of one it is the zero value, which
// refuses.
func VerdictFrom(ctx context.Context) Verdict {
	verdict, _ := ctx.Value(verdictKey{}).(Verdict)
	return verdict
}

// Protect lets only requests with a valid key through to next. The others are answered with 401, 403, 429 or 503 and a body
// of type application/problem+json.
func (c *Client) Protect(next http.Handler, route Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, options := route.read(r)
		verdict := c.Verify(r.Context(), key, options)
		// The sender can end its own request while Keystile is asked. That must not open the door.
		if verdict.Code == CodeUnavailable && r.Context().Err() != nil {
			verdict.Valid = false
		}
		setRateLimit(w.Header(), verdict)
		if !verdict.Valid {
			writeRefusal(w, verdict)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), verdictKey{}, verdict)))
	})
}

func (route Route) read(r *http.Request) (string, VerifyOptions) {
	keyOf, addressOf := KeyOf, remoteAddress
	if route.Key != nil {
		keyOf = route.Key
	}
	if route.ClientIP != nil {
		addressOf = route.ClientIP
	}
	return keyOf(r), VerifyOptions{
		APIID: route.APIID, Cost: route.Cost, Permissions: route.Permissions, Tags: route.Tags, Ratelimits: route.Ratelimits,
		Idempotent: route.Idempotent, ClientIP: addressOf(r),
	}
}

// KeyOf is the key in "Authorization: Bearer", else in "X-API-Key", else an empty text.
func KeyOf(r *http.Request) string {
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if key = strings.TrimSpace(key); strings.EqualFold(scheme, "Bearer") && key != "" {
		return key
	}
	return strings.TrimSpace(r.Header.Get("X-API-Key"))
}

// remoteAddress is empty for a connection without an address, such as a Unix socket.
func remoteAddress(r *http.Request) string {
	parsed, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return parsed.Addr().Unmap().WithZone("").String()
}
