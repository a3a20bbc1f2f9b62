package keystile

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

const reservationsPath = "/v1/reservations."

// OnExpiry is what becomes of a reservation that is neither settled nor released in time.
type OnExpiry string

const (
	// ReleaseOnExpiry returns the credits.
	ReleaseOnExpiry OnExpiry = "release"
	// ChargeOnExpiry charges all that is held.
	ChargeOnExpiry OnExpiry = "charge"
)

// ReserveOptions are what a reservation asks for besides its cost. The Cost and Idempotent of VerifyOptions are ignored: a
// reservation always has an idempotency key.
type ReserveOptions struct {
	VerifyOptions
	// TTL is how long the credits are held, from 1 second to 24 hours. Default: 10 minutes.
	TTL time.Duration
	// OnExpiry. Default: ReleaseOnExpiry.
	OnExpiry OnExpiry
}

// EndedReservation tells what became of the credits that a reservation held.
type EndedReservation struct {
	Charged  int64 `json:"charged"`
	Returned int64 `json:"returned"`
	// Remaining is absent when the key has no credits.
	Remaining *int64 `json:"remaining"`
}

// Reservation is a verdict, and the credits that are held if it is VALID. It is safe for concurrent use.
type Reservation struct {
	Verdict Verdict
	// ID is empty when nothing is held.
	ID string
	// ExpiresAt is the zero time when nothing is held.
	ExpiresAt Time

	client *Client
	mutex  sync.Mutex
	// isEnding: somebody has tried to end it. The mutex guards it.
	isEnding bool
}

type reserveBody struct {
	verifyBody
	Cost     int64    `json:"cost"`
	TTLMs    int64    `json:"ttlMs,omitempty"`
	OnExpiry OnExpiry `json:"onExpiry,omitempty"`
}

type reservedBody struct {
	ReservationID string `json:"reservationId"`
	ExpiresAt     Time   `json:"expiresAt"`
}

type endBody struct {
	ReservationID string `json:"reservationId"`
	Cost          *int64 `json:"cost,omitempty"`
	AllowOverage  bool   `json:"allowOverage,omitempty"`
}

// Reserve verifies a key and holds the credits that the call may cost. As Verify it always returns a verdict. Settle the
// reservation with the real cost, and defer its Release: that does nothing after Settle. Both need a root key with the
// right to verify.
func (c *Client) Reserve(ctx context.Context, key string, cost int64, options ReserveOptions) *Reservation {
	started := time.Now()
	options.Cost, options.Idempotent = nil, true
	verdict, held, failure := c.askToReserve(ctx, key, cost, options)
	asked := options.VerifyOptions
	asked.Cost = &cost
	if failure != nil {
		verdict = Verdict{Code: CodeUnavailable, Cause: failure}
		verdict.Valid = failure.leavesDecision() && c.onUnavailable(ctx, failure, asked)
	}
	if c.onVerdict != nil {
		c.onVerdict(ctx, VerdictEvent{Verdict: verdict, Asked: asked, Duration: time.Since(started)})
	}
	return &Reservation{Verdict: verdict, ID: held.ReservationID, ExpiresAt: held.ExpiresAt, client: c}
}

func (c *Client) askToReserve(ctx context.Context, key string, cost int64, options ReserveOptions) (Verdict, reservedBody, *Error) {
	if !isKeyShaped(key) {
		return Verdict{Code: CodeNotFound, Meta: map[string]any{}}, reservedBody{}, nil
	}
	path := reservationsPath + "create"
	body := reserveBody{verifyBody: toWire(key, options.VerifyOptions), Cost: cost, TTLMs: options.TTL.Milliseconds(), OnExpiry: options.OnExpiry}
	got, failure := c.transport.send(ctx, call{path: path, body: body, isRepeatable: true, secret: key})
	if failure != nil {
		return Verdict{}, reservedBody{}, failure
	}
	var held reservedBody
	verdict, isVerdict := verdictOf(got)
	if !isVerdict || json.Unmarshal(got.body, &held) != nil {
		return Verdict{}, reservedBody{}, notUnderstood(path)
	}
	return verdict, held, nil
}

// Settle charges what the call has cost, and returns the rest. To settle again with the same cost is safe. When nothing is
// held, it does nothing and returns nil.
func (r *Reservation) Settle(ctx context.Context, cost int64) (*EndedReservation, error) {
	return r.end(ctx, "settle", endBody{Cost: &cost})
}

// SettleWithOverage is Settle, but a cost above the reservation takes the difference from the credits that are left, as far
// as they suffice: Charged tells.
func (r *Reservation) SettleWithOverage(ctx context.Context, cost int64) (*EndedReservation, error) {
	return r.end(ctx, "settle", endBody{Cost: &cost, AllowOverage: true})
}

// Release returns all that is held. It does nothing when nothing is held, and after a call of Settle: a reservation whose
// settlement failed ends when it expires, because the call has happened. So it can be deferred, with a context that does not
// end with the request.
func (r *Reservation) Release(ctx context.Context) error {
	if r.begin() {
		return nil
	}
	_, err := r.end(ctx, "release", endBody{})
	return err
}

// begin notes that the reservation is being ended, and reports whether it was before.
func (r *Reservation) begin() bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	wasEnding := r.isEnding
	r.isEnding = true
	return wasEnding
}

func (r *Reservation) end(ctx context.Context, method string, body endBody) (*EndedReservation, error) {
	if r.ID == "" {
		return nil, nil
	}
	r.begin()
	body.ReservationID = r.ID
	var ended EndedReservation
	if err := r.client.callWith(ctx, call{path: reservationsPath + method, body: body, isRepeatable: true}, &ended); err != nil {
		return nil, err
	}
	return &ended, nil
}
