-- CreateTable
CREATE TABLE "market"."listings" (
    "listing_id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "title" TEXT NOT NULL,
    "description" TEXT NOT NULL,
    "tags" TEXT[],
    "price" TEXT,
    "amount" BIGINT NOT NULL,
    "supply" INTEGER NOT NULL,
    "taken" INTEGER NOT NULL DEFAULT 0,
    "seller" TEXT NOT NULL,
    "scope" TEXT,
    "payload_kind" TEXT,
    "capability_tag" TEXT,
    "context" JSON,
    "family" TEXT NOT NULL,
    "folded_title" TEXT NOT NULL,
    "folded" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "listings_pkey" PRIMARY KEY ("listing_id")
);

-- CreateTable
CREATE TABLE "market"."bids" (
    "bid_id" TEXT NOT NULL,
    "listing_id" TEXT,
    "title" TEXT NOT NULL,
    "description" TEXT NOT NULL,
    "tags" TEXT[],
    "price" TEXT,
    "amount" BIGINT NOT NULL,
    "bidder" TEXT NOT NULL,
    "family" TEXT NOT NULL,
    "scope" TEXT,
    "status" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "trade_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "bids_pkey" PRIMARY KEY ("bid_id")
);

-- CreateTable
CREATE TABLE "market"."trades" (
    "trade_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "listing_id" TEXT,
    "bid_id" TEXT,
    "seller" TEXT NOT NULL,
    "buyer" TEXT NOT NULL,
    "price" TEXT,
    "amount" BIGINT NOT NULL,
    "workspace" TEXT,
    "scope" TEXT,
    "operator" BOOLEAN NOT NULL,
    "state" TEXT NOT NULL,
    "settlement" TEXT NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "window_ms" BIGINT NOT NULL,
    "unsettled" TEXT NOT NULL,
    "delivered_at" TIMESTAMPTZ(3),
    "closed_at" TIMESTAMPTZ(3),
    "closed_by" TEXT,
    "payload" TEXT,
    "payload_hash" TEXT,
    "open_key" TEXT,
    "args_hash" TEXT,
    "tried_at" TIMESTAMPTZ(3) NOT NULL,
    "reported" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "trades_pkey" PRIMARY KEY ("trade_id")
);

-- CreateIndex
CREATE INDEX "listings_seller_idx" ON "market"."listings"("seller");

-- CreateIndex
CREATE INDEX "listings_family_idx" ON "market"."listings"("family");

-- CreateIndex
CREATE INDEX "bids_listing_id_idx" ON "market"."bids"("listing_id");

-- CreateIndex
CREATE INDEX "bids_family_idx" ON "market"."bids"("family");

-- CreateIndex
CREATE INDEX "bids_trade_id_idx" ON "market"."bids"("trade_id");

-- CreateIndex
CREATE UNIQUE INDEX "trades_open_key_key" ON "market"."trades"("open_key");

-- CreateIndex
CREATE INDEX "trades_listing_id_idx" ON "market"."trades"("listing_id");

-- CreateIndex
CREATE INDEX "trades_seller_created_at_idx" ON "market"."trades"("seller", "created_at");

-- CreateIndex
CREATE INDEX "trades_buyer_created_at_idx" ON "market"."trades"("buyer", "created_at");
-- What is due, what is not decided to be a trade yet, and what is owed: few rows of many.
CREATE INDEX "trades_due" ON "market"."trades" ("due_at") WHERE "state" IN ('pending', 'pending_delivery', 'delivered');
CREATE INDEX "trades_beginning" ON "market"."trades" ("tried_at") WHERE "state" IN ('opening', 'undoing');
CREATE INDEX "trades_owed" ON "market"."trades" ("closed_at") WHERE "settlement" = 'pending' OR ("closed_at" IS NOT NULL AND NOT "reported");

ALTER TABLE "market"."listings" ADD CONSTRAINT "listings_taken" CHECK ("taken" BETWEEN 0 AND "supply");
ALTER TABLE "market"."trades" ADD CONSTRAINT "trades_parties" CHECK ("seller" <> "buyer");
ALTER TABLE "market"."listings" SET (fillfactor = 50);
