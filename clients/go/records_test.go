package keystile_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	keystile "github.com/keystile/keystile/clients/go"
)

// Members that older programs read.
var older = map[string]bool{"refillRate": true, "refillInterval": true}

// Every field of a key and an identity goes in and comes out.
func TestEveryField(t *testing.T) {
	ctx, client := context.Background(), serviceClient(t)
	file, err := os.ReadFile("../records.json")
	if err != nil {
		t.Fatal(err)
	}
	var sent struct {
		Identity struct{ Create json.RawMessage }
		Key      struct{ Create json.RawMessage }
	}
	if err := json.Unmarshal(file, &sent); err != nil {
		t.Fatal(err)
	}
	var identity keystile.CreateIdentityRequest
	strictly(t, sent.Identity.Create, &identity)
	if _, err := client.CreateIdentity(ctx, identity); err != nil {
		t.Fatal(err)
	}
	byExternalID := keystile.GetIdentityRequest{ExternalID: identity.ExternalID}
	seenIdentity, err := client.GetIdentity(ctx, byExternalID)
	if err != nil {
		t.Fatal(err)
	}
	sameAsAnswer(t, client, "/v1/identities.getIdentity", byExternalID, seenIdentity)

	var key keystile.CreateKeyRequest
	strictly(t, sent.Key.Create, &key)
	made := newKey(t, client, key)
	seenKey, err := client.GetKey(ctx, made.KeyID)
	if err != nil {
		t.Fatal(err)
	}
	sameAsAnswer(t, client, "/v1/keys.getKey", map[string]string{"keyId": made.KeyID}, seenKey)
	if !strings.HasPrefix(seenKey.Start, key.Prefix) || seenKey.OwnerID != key.ExternalID || seenKey.Name != key.Name ||
		seenKey.Environment != key.Environment || *seenKey.Remaining != *key.Remaining || *seenKey.Alerts != *key.Alerts {
		t.Fatalf("sent %+v, got %+v", key, seenKey)
	}
}

// strictly fails where a request has no field for a member.
func strictly(t *testing.T, text []byte, request any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(request); err != nil {
		t.Fatal(err)
	}
}

// sameAsAnswer compares what the client has read with the JSON of the service.
func sameAsAnswer(t *testing.T, client *keystile.Client, path string, request, read any) {
	t.Helper()
	var answer any
	if err := client.Call(context.Background(), path, request, &answer); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(read)
	if err != nil {
		t.Fatal(err)
	}
	var written any
	if err := json.Unmarshal(text, &written); err != nil {
		t.Fatal(err)
	}
	compare(t, path, answer, written)
}

func compare(t *testing.T, where string, answer, written any) {
	t.Helper()
	switch answer := answer.(type) {
	case map[string]any:
		has, _ := written.(map[string]any)
		for name, value := range answer {
			if _, ok := has[name]; !ok && !older[name] {
				t.Errorf("%s.%s has no field", where, name)
			} else if ok && name != "reset" {
				compare(t, where+"."+name, value, has[name])
			}
		}
	case []any:
		has, _ := written.([]any)
		if len(has) != len(answer) {
			t.Fatalf("%s: %v instead of %v", where, written, answer)
		}
		for i := range answer {
			compare(t, where, answer[i], has[i])
		}
	default:
		if !reflect.DeepEqual(answer, written) {
			t.Errorf("%s: %v instead of %v", where, written, answer)
		}
	}
}
