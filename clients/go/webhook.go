package keystile

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Why the request of a webhook is not to be trusted.
var (
	ErrWebhookSecret    = errors.New("keystile: the secret of a webhook begins with whsec_ and goes on in base64")
	ErrWebhookHeaders   = errors.New("keystile: a header is missing: webhook-id, webhook-timestamp or webhook-signature")
	ErrWebhookTimestamp = errors.New("keystile: the webhook-timestamp is too old or too far ahead; compare the clocks of both machines")
	ErrWebhookSignature = errors.New("keystile: no signature fits: the request was made without this secret, or was changed on its way")
	ErrWebhookBody      = errors.New("keystile: the signature fits, but the body is no event")
)

// webhookTolerance is how far the time of a request may be from now.
const webhookTolerance = 5 * time.Minute

// Event is something that happened. An event can arrive more than once: its ID tells.
type Event struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	// Time is in unix milliseconds.
	Time     int64           `json:"time"`
	Sequence int64           `json:"sequence"`
	Data     json.RawMessage `json:"data"`
}

// VerifyWebhook answers the event of a request that a webhook has sent. It fails when the request does not come from your Keystile. body
// is the body as it was received. While a secret is rotated, give both.
func VerifyWebhook(body []byte, header http.Header, secrets ...string) (*Event, error) {
	return verifyWebhookAt(time.Now(), body, header, secrets...)
}

func verifyWebhookAt(now time.Time, body []byte, header http.Header, secrets ...string) (*Event, error) {
	id, timestamp, signatures := header.Get("webhook-id"), header.Get("webhook-timestamp"), header.Get("webhook-signature")
	if id == "" || timestamp == "" || signatures == "" {
		return nil, ErrWebhookHeaders
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > webhookTolerance {
		return nil, ErrWebhookTimestamp
	}
	fits := false
	for _, secret := range secrets {
		encoded, isSecret := strings.CutPrefix(secret, "whsec_")
		key, err := base64.StdEncoding.DecodeString(encoded)
		if !isSecret || err != nil || len(key) == 0 {
			return nil, ErrWebhookSecret
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + timestamp + "."))
		mac.Write(body)
		fits = hasSignature(signatures, mac.Sum(nil)) || fits
	}
	if !fits {
		return nil, ErrWebhookSignature
	}
	var event Event
	if json.Unmarshal(body, &event) != nil || event.ID == "" || event.Type == "" {
		return nil, ErrWebhookBody
	}
	return &event, nil
}

// hasSignature compares in constant time.
func hasSignature(signatures string, wanted []byte) bool {
	for _, each := range strings.Split(signatures, " ") {
		encoded, isV1 := strings.CutPrefix(each, "v1,")
		given, err := base64.StdEncoding.DecodeString(encoded)
		if isV1 && err == nil && hmac.Equal(given, wanted) {
			return true
		}
	}
	return false
}
