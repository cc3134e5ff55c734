/** The tools of what lies in the service for a while. */
import { cacheTools } from './cache.ts';
import { spaceTools } from './spaces.ts';
import { stashTools } from './stash.ts';

export const tmpTools = [...cacheTools, ...spaceTools, ...stashTools];
