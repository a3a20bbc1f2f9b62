package keystile_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	keystile "github.com/keystile/keystile/clients/go"
)

func TestKeyIsMadeReadChangedAndDeleted(t *testing.T) {
	ctx, client := context.Background(), serviceClient(t)
	expires := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	made := newKey(t, client, keystile.CreateKeyRequest{
		Prefix: "demo", Name: "Ann", ExternalID: "user_go", Meta: map[string]any{"plan": "pro"}, Expires: keystile.At(expires),
		Remaining: keystile.Int(10), Refill: &keystile.Refill{Interval: "daily", Amount: 10},
		Alerts:      &keystile.Alerts{CreditsBelow: 2, ExpiresWithinMs: 60000},
		Ratelimit:   &keystile.Ratelimit{Limit: 5, Duration: time.Minute, Async: keystile.Bool(false)},
		Ratelimits:  []keystile.Ratelimit{{Name: "exports", Limit: 7, Duration: time.Hour}},
		Permissions: []string{"doc.read"}, IPAllowlist: []string{"198.51.100.0/24"}, Environment: "test", Enabled: keystile.Bool(true),
	})
	key, err := client.GetKey(ctx, made.KeyID)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(made.Key, key.Start) || key.Name != "Ann" || key.Meta["plan"] != "pro" || !key.Expires.Equal(expires) || *key.Remaining != 10 ||
		key.Refill.Amount != 10 || key.Refill.NextRefillAt.IsZero() || key.Ratelimit.Duration != time.Minute || *key.Ratelimit.Async ||
		key.Identity.ExternalID != "user_go" || key.CreatedAt.IsZero() || !key.Enabled || key.Environment != "test" || len(key.Ratelimits) == 0 ||
		key.Metered || *key.Alerts != (keystile.Alerts{CreditsBelow: 2, ExpiresWithinMs: 60000}) {
		t.Fatalf("got %+v", key)
	}
	err = client.UpdateKey(ctx, keystile.UpdateKeyRequest{
		KeyID: made.KeyID, Name: keystile.Clear[string](), Expires: keystile.Clear[keystile.Time](), Remaining: keystile.Set[int64](3),
		Refill: keystile.Clear[keystile.Refill](), Enabled: keystile.Bool(false),
		Permissions: keystile.Set([]keystile.Reference{{Name: "doc.write", Create: true}}),
		Ratelimit:   keystile.Set(keystile.Ratelimit{Limit: 9, Duration: time.Second}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if key, err = client.GetKey(ctx, made.KeyID); err != nil || key.Name != "" || !key.Expires.IsZero() || *key.Remaining != 3 || key.Refill != nil ||
		key.Enabled || fmt.Sprint(key.Permissions) != "[doc.write]" || key.Ratelimit.Limit != 9 || key.Environment != "test" {
		t.Fatalf("got %+v, %v", key, err)
	}
	left, err := client.UpdateRemaining(ctx, keystile.UpdateRemainingRequest{KeyID: made.KeyID, Op: "decrement", Value: keystile.Int(1)})
	if err != nil || *left != 2 {
		t.Fatal(left, err)
	}
	if err := client.DeleteKey(ctx, keystile.DeleteKeyRequest{KeyID: made.KeyID}); err != nil {
		t.Fatal(err)
	}
	if err := client.Call(ctx, "/v1/keys.restoreKey", map[string]string{"keyId": made.KeyID}, nil); err != nil {
		t.Fatal(err)
	}
	if err := client.DeleteKey(ctx, keystile.DeleteKeyRequest{KeyID: made.KeyID, Permanent: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.GetKey(ctx, made.KeyID); failureOf(t, err).Code != keystile.ErrorNotFound {
		t.Fatal(err)
	}
}

func TestListGoesThroughAllPages(t *testing.T) {
	ctx, client := context.Background(), serviceClient(t)
	api := newAPI(t, client)
	want := map[string]bool{}
	made, err := client.CreateKeys(ctx, slices.Repeat([]keystile.CreateKeyRequest{{APIID: api}}, 5))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range made {
		want[key.KeyID] = true
	}
	seen := 0
	for key, err := range client.ListKeys(ctx, keystile.ListKeysRequest{APIID: api, PageSize: 2}) {
		if err != nil || !want[key.ID] {
			t.Fatal(key, err)
		}
		delete(want, key.ID)
		seen++
	}
	if seen != 5 || len(want) != 0 {
		t.Fatalf("saw %d keys, missed %v", seen, want)
	}
	for range client.ListKeys(ctx, keystile.ListKeysRequest{APIID: newAPI(t, client)}) {
		t.Fatal("an api without keys has a key")
	}
	for _, err := range client.ListKeys(ctx, keystile.ListKeysRequest{APIID: "api_unknown"}) {
		if err == nil {
			t.Fatal("an unknown api has a key")
		}
	}
}

func TestListThatWouldNeverEndEnds(t *testing.T) {
	server := script(t, answers(200, `{"keys":[{"id":"key_1"}],"cursor":"same"}`))
	seen := 0
	for range clientOf(t, server.URL).ListKeys(context.Background(), keystile.ListKeysRequest{APIID: "api_1"}) {
		seen++
	}
	if seen != 2 {
		t.Fatalf("saw %d", seen)
	}
	for _, body := range []string{`{}`, `{"keys":null}`, `{"keys":7}`, `{"keys":[],"cursor":7}`, `[]`} {
		for _, err := range clientOf(t, script(t, answers(200, body)).URL).ListKeys(context.Background(), keystile.ListKeysRequest{}) {
			if failureOf(t, err).Code != keystile.ErrorBadResponse {
				t.Error(body, err)
			}
		}
	}
}

func TestIdentityWithKeys(t *testing.T) {
	ctx, client := context.Background(), serviceClient(t)
	external := fmt.Sprintf("customer_%d", time.Now().UnixNano())
	_, err := client.CreateIdentity(ctx, keystile.CreateIdentityRequest{
		ExternalID: external, Name: "Acme Inc.", MaxKeys: keystile.Int(1),
		Ratelimits: []keystile.Ratelimit{{Name: "all", Limit: 9, Duration: time.Minute, AutoApply: keystile.Bool(false)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	made := newKey(t, client, keystile.CreateKeyRequest{ExternalID: external})
	_, err = client.CreateKey(ctx, keystile.CreateKeyRequest{APIID: newAPI(t, client), ExternalID: external})
	if got := failureOf(t, err); got.Code != "PRECONDITION_FAILED" {
		t.Fatal(got)
	}
	seen, err := client.GetIdentity(ctx, keystile.GetIdentityRequest{ExternalID: external})
	if err != nil || seen.Name != "Acme Inc." || *seen.MaxKeys != 1 || *seen.Keys != 1 || !seen.Enabled ||
		*seen.Ratelimits[0].AutoApply || *seen.Ratelimits[0].Used != 0 {
		t.Fatalf("got %+v, %v", seen, err)
	}
	found := 0
	for each, err := range client.ListIdentities(ctx, keystile.ListIdentitiesRequest{Search: external}) {
		if err != nil || each.ExternalID != external {
			t.Fatal(each, err)
		}
		found++
	}
	_, err = client.UpdateIdentity(ctx, keystile.UpdateIdentityRequest{ExternalID: external, Enabled: keystile.Bool(false)})
	verdict := client.Verify(ctx, made.Key, keystile.VerifyOptions{})
	if err != nil || found != 1 || verdict.Code != keystile.CodeDisabled {
		t.Fatal(err, found, verdict.Code)
	}
	if got := failureOf(t, client.DeleteIdentity(ctx, keystile.DeleteIdentityRequest{ExternalID: external})); got.Code != "CONFLICT" {
		t.Fatal(got)
	}
	if _, err := client.UpdateIdentity(ctx, keystile.UpdateIdentityRequest{ExternalID: external, Enabled: keystile.Bool(true)}); err != nil {
		t.Fatal(err)
	}
	if err := client.DeleteIdentity(ctx, keystile.DeleteIdentityRequest{ExternalID: external, Keys: "detach"}); err != nil {
		t.Fatal(err)
	}
	if verdict := client.Verify(ctx, made.Key, keystile.VerifyOptions{}); !verdict.Valid {
		t.Fatalf("got %+v", verdict)
	}
}

func TestIdentityIsMadeReadChangedListedAndDeleted(t *testing.T) {
	ctx, client := context.Background(), serviceClient(t)
	external := fmt.Sprintf("org_%d", time.Now().UnixNano())
	made, err := client.CreateIdentity(ctx, keystile.CreateIdentityRequest{
		ExternalID: external, Remaining: keystile.Int(5), Ratelimits: []keystile.Ratelimit{{Name: "requests", Limit: 9, Duration: time.Minute}},
	})
	if err != nil {
		t.Fatal(err)
	}
	identity, err := client.GetIdentity(ctx, keystile.GetIdentityRequest{ExternalID: external})
	if err != nil || identity.ID != made.IdentityID || *identity.Remaining != 5 || identity.Ratelimits[0].Duration != time.Minute {
		t.Fatalf("got %+v, %v", identity, err)
	}
	identity, err = client.UpdateIdentity(ctx, keystile.UpdateIdentityRequest{
		IdentityID: made.IdentityID, Remaining: keystile.Clear[int64](), Meta: keystile.Set(map[string]any{"plan": "team"}),
	})
	if err != nil || identity.Remaining != nil || identity.Meta["plan"] != "team" || len(identity.Ratelimits) != 1 {
		t.Fatalf("got %+v, %v", identity, err)
	}
	isListed := false
	for each, err := range client.ListIdentities(ctx, keystile.ListIdentitiesRequest{PageSize: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		isListed = isListed || each.ExternalID == external
	}
	if !isListed {
		t.Error("the identity is not listed")
	}
	if err := client.DeleteIdentity(ctx, keystile.DeleteIdentityRequest{IdentityID: made.IdentityID, Keys: "detach"}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.GetIdentity(ctx, keystile.GetIdentityRequest{IdentityID: made.IdentityID}); failureOf(t, err).Code != keystile.ErrorNotFound {
		t.Fatal(err)
	}
}

func TestServiceExplainsWrongCalls(t *testing.T) {
	ctx, client := context.Background(), serviceClient(t)
	url, _ := service(t)
	stranger := newClient(t, keystile.Options{URL: url, RootKey: "root_that_nobody_ever_made_0001", Timeout: longEnough, TotalTimeout: longEnough})
	_, err := stranger.CreateAPI(ctx, "x")
	if got := failureOf(t, err); got.Code != keystile.ErrorUnauthorized || got.Status != 401 || got.RequestID == "" || got.Docs == "" ||
		strings.Contains(err.Error(), "nobody_ever_made") {
		t.Errorf("got %+v", got)
	}
	err = client.Call(ctx, "/v1/keys.createKey", map[string]any{"remainning": 1}, nil)
	if got := failureOf(t, err); got.Code != keystile.ErrorBadRequest || len(got.Issues) == 0 || !strings.Contains(got.Message, "remainning") {
		t.Errorf("got %+v", got)
	}
	err = client.Call(ctx, "/v1/keys.createKey", map[string]any{"name": strings.Repeat("x", 8<<20)}, nil)
	if got := failureOf(t, err); got.Code != keystile.ErrorPayloadTooLarge || got.Status != 413 {
		t.Errorf("got %v", got)
	}
	made := newKey(t, client, keystile.CreateKeyRequest{})
	for _, query := range []*keystile.PermissionQuery{keystile.Permission(""), keystile.And(), keystile.Or(), {}} {
		if verdict := client.Verify(ctx, made.Key, keystile.VerifyOptions{Permissions: query}); verdict.Valid || verdict.Cause == nil {
			t.Errorf("a query without a permission passes: %+v", verdict)
		}
	}
}

func TestAnswerWithoutWhatIsNeededIsAnError(t *testing.T) {
	ctx := context.Background()
	for _, body := range []string{`{}`, `null`, `{"keyId":7}`} {
		client := clientOf(t, script(t, answers(200, body)).URL)
		_, created := client.CreateKey(ctx, keystile.CreateKeyRequest{})
		_, rotated := client.RotateKey(ctx, "key_1", 0)
		_, api := client.CreateAPI(ctx, "x")
		_, identity := client.CreateIdentity(ctx, keystile.CreateIdentityRequest{})
		for _, err := range []error{created, rotated} {
			if got := failureOf(t, err); got.Code != keystile.ErrorBadResponse || got.IsCertainlyNotDone {
				t.Errorf("%s: got %v", body, got)
			}
		}
		if failureOf(t, api).Code != keystile.ErrorBadResponse || failureOf(t, identity).Code != keystile.ErrorBadResponse {
			t.Errorf("%s: got %v, %v", body, api, identity)
		}
	}
}
