import { derivedTools } from '../worlds/tools/derived.ts';
import { storedTools } from '../worlds/tools/stored.ts';
import { computeTools } from '../compute/tools.ts';
import { recursionTools } from '../recursion/tools/all.ts';
import { cronTools } from '../cron/tools/all.ts';
import { crewTools } from '../crews/tools/crews.ts';
import { networkTools } from '../network/tools.ts';
import { streamTools } from '../streams/tools/streams.ts';
import { workTools } from '../streams/tools/work.ts';
import { claimTools } from '../streams/tools/claims.ts';
import { doorTools } from './doors.ts';

export const allTools = [
  ...cronTools,
  ...recursionTools,
  ...streamTools,
  ...claimTools,
  ...workTools,
  ...computeTools,
  ...networkTools,
  ...doorTools,
  ...crewTools,
  ...derivedTools,
  ...storedTools,
];
