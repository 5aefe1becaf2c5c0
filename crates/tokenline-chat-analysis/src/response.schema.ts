export const LLM_RESPONSE_SCHEMA = {
  $schema: "http://json-schema.org/draft-07/schema#",
  type: "object",
  required: ["response", "analysis"],
  properties: {
    response: {
      type: "string",
      description: "Natural language response to user",
      minLength: 1,
      maxLength: 10000
    },
    analysis: {
      type: "object",
      required: ["subjects", "summaryUpdate"],
      properties: {
        subjects: {
          type: "array",
          description: "Main themes discussed in this exchange",
          minItems: 0,
          maxItems: 3,
          items: {
            type: "object",
            required: ["name", "description", "isNew", "keywords"],
            properties: {
              name: {
                type: "string",
                description: "Subject identifier (lowercase, hyphenated)",
                pattern: "^[a-z0-9]+(-[a-z0-9]+)*$",
                minLength: 2,
                maxLength: 50
              },
              description: {
                type: "string",
                description: "Brief explanation of subject",
                minLength: 10,
                maxLength: 200
              },
              isNew: {
                type: "boolean",
                description: "True if new subject, false if continuing existing"
              },
              keywords: {
                type: "array",
                description: "Key concepts for this subject",
                minItems: 0,
                maxItems: 10,
                items: {
                  type: "object",
                  required: ["term", "confidence"],
                  properties: {
                    term: {
                      type: "string",
                      description: "Normalized keyword (lowercase, hyphenated)",
                      pattern: "^[a-z0-9]+(-[a-z0-9]+)*$",
                      minLength: 2,
                      maxLength: 50
                    },
                    confidence: {
                      type: "number",
                      description: "Extraction confidence",
                      minimum: 0.0,
                      maximum: 1.0
                    }
                  }
                }
              }
            }
          }
        },
        summaryUpdate: {
          type: "string",
          description: "2-3 sentence incremental summary of this exchange",
          minLength: 10,
          maxLength: 500
        }
      }
    }
  }
} as const;

// TypeScript types derived from schema
export interface LLMKeyword {
  term: string;
  confidence: number;
}

export interface LLMSubject {
  name: string;
  description: string;
  isNew: boolean;
  keywords: LLMKeyword[];
}

export interface LLMAnalysis {
  subjects: LLMSubject[];
  summaryUpdate: string;
}

export interface LLMResponse {
  response: string;
  analysis: LLMAnalysis;
}
