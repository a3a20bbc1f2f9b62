import { type Variable, variable } from './variable.ts';
import { color, origins, pictureFile, text } from './kinds.ts';

/** The settings of the customers' page. */
export const PORTAL_VARIABLES = {
  portalName: variable(
    'PORTAL_NAME',
    text,
    'API keys',
    "The name on the customers' page, such as that of your product.",
  ),
  portalColor: variable('PORTAL_COLOR', color, '#0b57d0', "The colour of the customers' page."),
  portalLogo: variable('PORTAL_LOGO', pictureFile, null, "A picture for the customers' page, at most 256 KiB."),
  portalReturnOrigins: variable(
    'PORTAL_RETURN_ORIGINS',
    origins,
    null,
    "Origins that the customers' page may lead back to, separated by commas; `*` allows all. None when absent.",
  ),
} as const satisfies Record<string, Variable<unknown, string | null>>;
