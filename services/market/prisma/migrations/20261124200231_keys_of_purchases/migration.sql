-- Nothing reads trades by their buyer, and few trades have a key.
DROP INDEX "market"."trades_buyer_created_at_idx";

DROP INDEX "market"."trades_open_key_key";
CREATE UNIQUE INDEX "trades_open_key" ON "market"."trades" ("open_key") WHERE "open_key" IS NOT NULL;
