package keystile

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"time"
)

const verifyPath = "/v1/keys.verifyKey"

// maxKeyLength is the length of the longest key that the service knows.
const maxKeyLength = 512

// VerifyOptions are what a verification asks for. The zero value asks only whether the key is valid, for one credit.
type VerifyOptions struct {
	// APIID: the key must belong to this api.
	APIID string
	// Cost is the credits to take: Int(0) takes none. Default: 1.
	Cost *int64
	// Permissions that the key must have.
	Permissions *PermissionQuery
	// Tags are counted in analytics.
	Tags []string
	// Ratelimits are limits to count besides those of the key, or other numbers for those.
	Ratelimits []RequestedLimit
	// ClientIP is checked against the addresses that the key allows.
	ClientIP string
	// Idempotent sends an idempotency key, so that a verification whose answer was lost is tried again and charged once. A
	// key has at most 10,000 of them at a time: use it for what must not be lost, not for every call.
	Idempotent bool
	// IdempotencyKey is the one to send, when the caller repeats a call by itself.
	IdempotencyKey string
}

// verifyBody is the options as the service reads them.
type verifyBody struct {
	Key            string             `json:"key"`
	APIID          string             `json:"apiId,omitempty"`
	Remaining      *costBody          `json:"remaining,omitempty"`
	Authorization  *authorizationBody `json:"authorization,omitempty"`
	Tags           []string           `json:"tags,omitempty"`
	Ratelimits     []RequestedLimit   `json:"ratelimits,omitempty"`
	ClientIP       string             `json:"clientIp,omitempty"`
	IdempotencyKey string             `json:"idempotencyKey,omitempty"`
}

type costBody struct {
	Cost int64 `json:"cost"`
}

type authorizationBody struct {
	Permissions *PermissionQuery `json:"permissions"`
}

// Verify decides whether a request with this key may pass. It always returns a verdict: when the service gives none, Code
// is UNAVAILABLE, Cause says why, and OnUnavailable decides.
func (c *Client) Verify(ctx context.Context, key string, options VerifyOptions) Verdict {
	started := time.Now()
	verdict, failure := c.ask(ctx, key, options)
	if failure != nil {
		verdict = Verdict{Code: CodeUnavailable, Cause: failure}
		verdict.Valid = failure.leavesDecision() && c.onUnavailable(ctx, failure, options)
	}
	if c.onVerdict != nil {
		c.onVerdict(ctx, VerdictEvent{Verdict: verdict, Asked: options, Duration: time.Since(started)})
	}
	return verdict
}

func (c *Client) ask(ctx context.Context, key string, options VerifyOptions) (Verdict, *Error) {
	if !isKeyShaped(key) {
		return Verdict{Code: CodeNotFound, Meta: map[string]any{}}, nil
	}
	body := toWire(key, options)
	got, failure := c.transport.send(ctx, call{path: verifyPath, body: body, isRepeatable: body.IdempotencyKey != "", secret: key})
	if failure != nil {
		return Verdict{}, failure
	}
	verdict, isVerdict := verdictOf(got)
	if !isVerdict {
		return Verdict{}, notUnderstood(verifyPath)
	}
	return verdict, nil
}

func toWire(key string, options VerifyOptions) verifyBody {
	body := verifyBody{
		Key: key, APIID: options.APIID, Tags: options.Tags, Ratelimits: options.Ratelimits, ClientIP: options.ClientIP,
		IdempotencyKey: options.IdempotencyKey,
	}
	if options.Cost != nil {
		body.Remaining = &costBody{Cost: *options.Cost}
	}
	if options.Permissions != nil {
		body.Authorization = &authorizationBody{Permissions: options.Permissions}
	}
	if options.Idempotent && body.IdempotencyKey == "" {
		body.IdempotencyKey = newIdempotencyKey()
	}
	return body
}

// isKeyShaped: another text is no key, and the service need not be asked about it.
func isKeyShaped(text string) bool {
	if text == "" || len(text) > maxKeyLength {
		return false
	}
	for index := range len(text) {
		if text[index] < 0x20 || text[index] > 0x7e {
			return false
		}
	}
	return true
}

func newIdempotencyKey() string {
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		panic("keystile: the operating system gives no random bytes: " + err.Error())
	}
	return hex.EncodeToString(random[:])
}
