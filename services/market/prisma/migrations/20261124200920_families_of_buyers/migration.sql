DROP INDEX "market"."trades_seller_created_at_idx";

ALTER TABLE "market"."trades" ADD COLUMN "buyer_family" TEXT;
UPDATE "market"."trades" SET "buyer_family" = "buyer";
ALTER TABLE "market"."trades" ALTER COLUMN "buyer_family" SET NOT NULL;

CREATE INDEX "trades_seller_buyer_family_idx" ON "market"."trades"("seller", "buyer_family");
-- What a family has open, and what was delivered and is still kept.
CREATE INDEX "trades_open" ON "market"."trades" ("buyer_family") WHERE "state" IN ('opening', 'pending', 'pending_delivery', 'delivered');
CREATE INDEX "trades_payloads" ON "market"."trades" ("closed_at") WHERE "payload" IS NOT NULL;
