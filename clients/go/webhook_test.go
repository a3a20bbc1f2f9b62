package keystile

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

const (
	webhookSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	webhookBody      = `{"id":"evt_1","type":"key.created","time":1,"sequence":2,"data":{"keyId":"key_1"}}`
	webhookSignature = "v1,cDMugzZ1ydeOyP8RzcZQi67gh6eHiuGohGSHEOT+WSM="
)

var webhookSentAt = time.Unix(1614265330, 0)

func webhookHeader(changed ...string) http.Header {
	header := http.Header{}
	header.Set("webhook-id", "evt_1")
	header.Set("webhook-timestamp", "1614265330")
	header.Set("webhook-signature", webhookSignature)
	for i := 0; i < len(changed); i += 2 {
		header.Set(changed[i], changed[i+1])
	}
	return header
}

func TestAnEventOfAWebhookIsTakenAlsoDuringARotation(t *testing.T) {
	for _, header := range []http.Header{webhookHeader(), webhookHeader("webhook-signature", "v1,AAAA v2,x "+webhookSignature)} {
		for _, away := range []time.Duration{-webhookTolerance, 0, webhookTolerance} {
			event, err := verifyWebhookAt(webhookSentAt.Add(away), []byte(webhookBody), header, "whsec_AAAA", webhookSecret)
			if err != nil || event.ID != "evt_1" || event.Type != "key.created" || string(event.Data) != `{"keyId":"key_1"}` {
				t.Fatalf("got %+v, %v", event, err)
			}
		}
	}
}

func TestWhatAWebhookHasNotSentIsRefused(t *testing.T) {
	for name, each := range map[string]struct {
		wanted error
		now    time.Time
		body   string
		header http.Header
		secret string
	}{
		"another body":      {ErrWebhookSignature, webhookSentAt, strings.Replace(webhookBody, "created", "deleted", 1), webhookHeader(), webhookSecret},
		"another secret":    {ErrWebhookSignature, webhookSentAt, webhookBody, webhookHeader(), "whsec_AAAA"},
		"another id":        {ErrWebhookSignature, webhookSentAt, webhookBody, webhookHeader("webhook-id", "evt_2"), webhookSecret},
		"another version":   {ErrWebhookSignature, webhookSentAt, webhookBody, webhookHeader("webhook-signature", strings.Replace(webhookSignature, "v1", "v2", 1)), webhookSecret},
		"no signature":      {ErrWebhookHeaders, webhookSentAt, webhookBody, webhookHeader("webhook-signature", ""), webhookSecret},
		"too old":           {ErrWebhookTimestamp, webhookSentAt.Add(webhookTolerance + time.Second), webhookBody, webhookHeader(), webhookSecret},
		"too far ahead":     {ErrWebhookTimestamp, webhookSentAt.Add(-webhookTolerance - time.Second), webhookBody, webhookHeader(), webhookSecret},
		"no time":           {ErrWebhookTimestamp, webhookSentAt, webhookBody, webhookHeader("webhook-timestamp", "now"), webhookSecret},
		"a long time":       {ErrWebhookTimestamp, webhookSentAt, webhookBody, webhookHeader("webhook-timestamp", strings.Repeat("9", 5000)), webhookSecret},
		"a far time":        {ErrWebhookTimestamp, webhookSentAt, webhookBody, webhookHeader("webhook-timestamp", "-9223372036854775808"), webhookSecret},
		"an id of bytes":    {ErrWebhookSignature, webhookSentAt, webhookBody, webhookHeader("webhook-id", "\xff"), webhookSecret},
		"a body of bytes":   {ErrWebhookSignature, webhookSentAt, "\xff", webhookHeader(), webhookSecret},
		"no secret at all":  {ErrWebhookSecret, webhookSentAt, webhookBody, webhookHeader(), "AAAA"},
		"a secret of stars": {ErrWebhookSecret, webhookSentAt, webhookBody, webhookHeader(), "whsec_***"},
	} {
		if event, err := verifyWebhookAt(each.now, []byte(each.body), each.header, each.secret); !errors.Is(err, each.wanted) {
			t.Errorf("%s: got %+v, %v", name, event, err)
		}
	}
}
