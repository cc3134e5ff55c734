import { bidTools } from './bids.ts';
import { listingTools } from './listings.ts';
import { skillTools } from './skills.ts';
import { tradeTools } from './trades.ts';

export const allTools = [...listingTools, ...bidTools, ...tradeTools, ...skillTools];
