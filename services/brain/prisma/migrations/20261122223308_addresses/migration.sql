-- CreateTable
CREATE TABLE "brain"."brain_usage" (
    "kind" TEXT NOT NULL,
    "scope" TEXT NOT NULL,
    "items" BIGINT NOT NULL DEFAULT 0,
    "bytes" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "brain_usage_pkey" PRIMARY KEY ("kind","scope")
);

-- CreateTable
CREATE TABLE "brain"."brain_objects" (
    "brain_id" TEXT NOT NULL,
    "barcode" TEXT NOT NULL,
    "sha256" TEXT NOT NULL,
    "form" TEXT NOT NULL,
    "content" BYTEA NOT NULL,
    "stored_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "brain_objects_pkey" PRIMARY KEY ("brain_id","barcode")
);

-- CreateTable
CREATE TABLE "brain"."brain_geo_keys" (
    "brain_id" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "barcode" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "brain_geo_keys_pkey" PRIMARY KEY ("brain_id","key")
);

-- CreateTable
CREATE TABLE "brain"."brain_places" (
    "brain_id" TEXT NOT NULL,
    "path" TEXT NOT NULL,
    "barcode" TEXT NOT NULL,
    "sha256" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "brain_places_pkey" PRIMARY KEY ("brain_id","path","barcode")
);

-- CreateIndex
CREATE INDEX "brain_geo_keys_brain_id_barcode_idx" ON "brain"."brain_geo_keys"("brain_id", "barcode");

-- CreateIndex
CREATE INDEX "brain_places_brain_id_key_idx" ON "brain"."brain_places"("brain_id", "key");

-- CreateIndex
CREATE INDEX "brain_places_brain_id_barcode_idx" ON "brain"."brain_places"("brain_id", "barcode");
