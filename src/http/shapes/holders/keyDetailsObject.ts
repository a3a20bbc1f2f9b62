import type { KeyDetails } from '../../../engine/admin/keys/keyView.ts';
import { component, optional } from '../schema/described.ts';
import { HeldPlanObject, toHeldPlan } from './heldPlanObject.ts';
import { KEY_EXAMPLE, KEY_FIELDS, toKeyObject } from '../keys/keyObject.ts';
import { strict } from '../schema/schemas.ts';

/** A key by itself: with what it has used of its plan. */
export const KeyDetailsObject = component(
  'KeyDetails',
  strict({
    ...KEY_FIELDS,
    plan: optional(
      HeldPlanObject,
      'What the key gets from its plan. Absent when it is on none. A key of an identity follows the plan of that.',
    ),
  }),
  'A key, without its secret. Fields that are not set are absent.',
  KEY_EXAMPLE,
);

export function toKeyDetails(details: KeyDetails, workspaceId: string): object {
  return { ...toKeyObject(details, workspaceId), ...toHeldPlan(details.key, details) };
}
